// troupe serve: graphs over HTTP, for the clients of LangGraph's Agent Server.
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/parts.hpp"
#include "tools/troupe/server/definitions.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <troupe/server.hpp>

#include <CLI/CLI.hpp>

#include <future>
#include <iostream>

namespace troupe::cli {

namespace {

struct serve_flags {
  std::vector<std::string> graphs;
  std::string listen = "127.0.0.1:2024";
  server_options options;
  bool in_memory = false;
  bool local_webhooks = false;
};

// `name`, `lib.so:name` or `NAME=lib.so:name`.
std::pair<std::string, compiled_graph> graph_of(const std::string& given) {
  auto equals = given.find('=');
  auto found = find_graph(equals == std::string::npos ? given : given.substr(equals + 1));
  auto name = equals != std::string::npos ? given.substr(0, equals)
                                          : given.substr(given.rfind(':') + 1);
  return {name, std::move(found)};
}

int serve(serve_flags& o, bool json) {
  stop_signals signals;
  auto address = load_cluster().read_address(o.listen);
  o.options.address = address.first == "localhost" ? "127.0.0.1" : address.first;
  o.options.port = address.second;
  if (o.in_memory)
    o.options.data_dir.clear();
  if (o.graphs.empty())
    for (const auto& g : builtin_graphs())
      o.graphs.emplace_back(g.name);
  for (const auto& name : o.graphs)
    o.options.graphs.push_back(graph_of(name));
  if (o.local_webhooks) {
    o.options.webhooks.require_https = false;
    o.options.webhooks.allow_loopback = true;
  }
  std::promise<void> asked;
  agent_server serving{o.options};
  signals.watch([&asked] { asked.set_value(); },
                "stopping: runs stop at the end of their step, and go on when it serves again");
  auto url = "http://" + o.options.address + ':' + std::to_string(serving.port());
  if (json)
    print_line(json_line("serve", {{"url", to_json(value(url))}}));
  else
    std::cout << "serving " << o.options.graphs.size() << " graphs at " << url << std::endl;
  asked.get_future().wait();
  serving.drain();
  signals.watch(std::nullopt);
  return exit_done;
}

} // namespace

void define_serve(CLI::App* command, chosen_command& chosen) {
  auto o = std::make_shared<serve_flags>();
  o->options.data_dir = data_dir_default;
  command
    ->add_option("graphs", o->graphs,
                 "Built-in graphs, or path/to/lib.so:name; NAME=… gives another name. Default: all "
                 "built-in graphs")
    ->type_name("GRAPH");
  command->add_option("--listen", o->listen, "The address; port 0: any")
    ->type_name("HOST:PORT")
    ->capture_default_str();
  command->add_option("--data", o->options.data_dir, "The data directory")
    ->type_name("DIR")
    ->capture_default_str();
  command->add_flag("--in-memory", o->in_memory, "Keep nothing on the disk");
  command->add_flag("--no-auth", o->options.no_auth,
                    "Serve callers beyond this host without asking who they are");
  command
    ->add_option("--allow-origin", o->options.cors.origins,
                 "An origin whose pages may call, as https://app.example; default: any")
    ->type_name("ORIGIN")
    ->allow_extra_args(false);
  command->add_flag("--allow-local-webhooks", o->local_webhooks,
                    "Webhooks may be http, and on this host");
  command->add_flag("--json", chosen.json, "Print one JSON object when it listens");
  command->footer(
    std::string{"The API is that of LangGraph's Agent Server; its clients work as they are:\n"
                "  from langgraph_sdk import get_sync_client\n"
                "  client = get_sync_client(url=\"http://127.0.0.1:2024\")\n"
                "  client.runs.wait(None, \"hello\", input={})\n"}
    + exit_codes_help);
  command->callback([o, &chosen] { chosen.run = [o, &chosen] { return serve(*o, chosen.json); }; });
}

} // namespace troupe::cli
