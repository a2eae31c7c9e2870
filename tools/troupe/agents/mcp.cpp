// troupe mcp: graphs as tools for the clients of others, over stdin and stdout, or HTTP.
#include "tools/troupe/agents/definitions.hpp"
#include "tools/troupe/bodies_deadline.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/number_checks.hpp"
#include "tools/troupe/parts.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <troupe/agents/mcp_server.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>
#include <map>

namespace troupe::cli {

namespace {

constexpr const char* token_variable = "TROUPE_MCP_TOKEN";

struct mcp_flags {
  std::vector<std::string> graphs, descriptions;
  std::string listen, token_file;
  std::shared_ptr<kept_place> place;
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  double call_timeout = std::chrono::duration<double>{limits::mcp_served_call_timeout}.count();
  mcp_http_options http;
};

// By the names of tools. A graph of a library may have the name of a built-in one.
std::map<std::string, std::string> descriptions_of(const mcp_flags& o) {
  std::map<std::string, std::string> out;
  for (const auto& g : builtin_graphs())
    if (std::ranges::find(o.graphs, g.name) != o.graphs.end())
      out[g.name] = g.what;
  for (const auto& given : o.descriptions) {
    auto at = given.find('=');
    if (at == std::string::npos)
      throw error{errc::invalid_config, "--description: NAME=TEXT is expected: " + given};
    out[given.substr(0, at)] = given.substr(at + 1);
  }
  return out;
}

mcp_server server_of(const mcp_flags& o, runtime& rt) {
  auto descriptions = descriptions_of(o);
  mcp_offer offer;
  for (const auto& name : o.graphs) {
    auto app = rt.load(find_graph(name));
    mcp_graph graph{.app = app, .description = descriptions[app.graph().name()]};
    graph.config.recursion_limit = o.recursion_limit;
    offer.graphs.push_back(std::move(graph));
  }
  using seconds = std::chrono::duration<double>;
  auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(seconds{o.call_timeout});
  return mcp_server{rt, std::move(offer), {.call_timeout = timeout}};
}

// No program that a graph starts sees it.
std::string token_of(const mcp_flags& o) {
  std::string token;
  if (const char* given = std::getenv(token_variable))
    token = given;
  ::unsetenv(token_variable);
  if (o.token_file.empty())
    return token;
  std::ifstream file{o.token_file};
  if (!std::getline(file, token) || token.empty())
    throw error{errc::invalid_config,
                "--token-file: the first line must be a token: " + o.token_file};
  if (token.ends_with('\r'))
    token.pop_back();
  return token;
}

void serve_http(mcp_flags& o, const mcp_server& server, stop_signals& signals, bool json) {
  auto [host, port] = load_cluster().read_address(o.listen);
  o.http.address = host == "localhost" ? "127.0.0.1" : host;
  o.http.port = port;
  o.http.token = token_of(o);
  mcp_http_server http{server, o.http};
  std::promise<void> told;
  signals.watch([&told] { told.set_value(); },
                "stopping: no more calls are accepted, and running calls end first");
  if (json)
    print_line(json_line("mcp", {{"url", to_json(http.url())}}));
  else
    std::cout << "serving MCP at " << http.url() << std::endl;
  told.get_future().wait();
  http.drain();
}

int run_mcp(mcp_flags& o, bool json) {
  stop_signals signals; // before anything that starts threads
  o.place->read_environment();
  std::optional<runtime> rt{std::in_place, o.place->options()};
  std::optional<mcp_server> server{server_of(o, *rt)};
  if (o.listen.empty()) {
    std::stop_source stop;
    signals.watch([&stop] { stop.request_stop(); },
                  "stopping: no more calls are accepted, and running calls end first");
    serve_stdio(*server, {.stop = stop.get_token()}).value();
  } else {
    serve_http(o, *server, signals, json);
  }
  signals.watch(std::nullopt);
  bodies_deadline in_time;
  server.reset();
  rt.reset();
  return exit_done;
}

} // namespace

void define_mcp(CLI::App* command, chosen_command& chosen) {
  auto o = std::make_shared<mcp_flags>();
  command->add_option("GRAPH", o->graphs, "Built-in graphs, or path/to/lib.so:name")->required();
  o->place = add_kept_place(*command, "Where threads are kept, so that a call can resume one; "
                                      "nowhere when left out");
  command
    ->add_option("--description", o->descriptions,
                 "The description of a graph for models, by its name; may be repeated")
    ->type_name("NAME=TEXT")
    ->allow_extra_args(false);
  command
    ->add_option("--recursion-limit", o->recursion_limit,
                 "Most super-steps of a call; default: the limit of the graph")
    ->type_name("N")
    ->check(positive_number);
  command->add_option("--call-timeout", o->call_timeout, "How long a call may take")
    ->type_name("SECONDS")
    ->check(CLI::Range(0.001, 1e6))
    ->capture_default_str();
  command
    ->add_option("--listen", o->listen, "Serve over HTTP at this address, at /mcp; port 0: any")
    ->type_name("HOST:PORT");
  command
    ->add_option(
      "--token-file", o->token_file,
      std::string{"HTTP: a file whose first line is the token that clients must have; default: "}
        + token_variable + "; required to listen beyond this host")
    ->type_name("FILE");
  command
    ->add_option("--allow-host", o->http.hosts, "HTTP: another name of this host; may be repeated")
    ->type_name("NAME")
    ->allow_extra_args(false);
  command
    ->add_option("--allow-origin", o->http.origins,
                 "HTTP: an origin whose pages may call, as https://app.example; may be repeated")
    ->type_name("ORIGIN")
    ->allow_extra_args(false);
  command->add_flag("--json", chosen.json, "HTTP: print one JSON object when it listens");
  command->footer(
    std::string{
      "Without --listen it serves the program that started it, until its stdin ends. As an entry\n"
      "of a client's configuration:\n"
      "  {\"mcpServers\": {\"troupe\": {\"command\": \"troupe\", \"args\": [\"mcp\", "
      "\"digest\"]}}}\n"
      "After Ctrl-C no more calls are accepted, and running calls have 10 s to end.\n"}
    + exit_codes_help);
  command->callback(
    [o, &chosen] { chosen.run = [o, &chosen] { return run_mcp(*o, chosen.json); }; });
}

} // namespace troupe::cli
