// troupe serve: graphs over HTTP, for the clients of LangGraph's Agent Server.
#include "server/auth/api_keys.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/server/definitions.hpp"
#include "tools/troupe/server/serve_flags.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <CLI/CLI.hpp>

#include <sys/resource.h>

#include <future>
#include <iostream>

namespace troupe::cli {

namespace {

// The line alone goes to stdout, for a file; the key to the person in front of the terminal.
int print_new_key(const std::string& name, bool json) {
  auto made = server::make_api_key(name);
  if (json) {
    print_line(json_line("api_key",
                         {{"key", to_json(value(made.key))}, {"line", to_json(value(made.line))}}));
    return exit_done;
  }
  std::cerr << "the key of " << name << ", which is shown only now: " << made.key << std::endl;
  std::cout << made.line << std::endl;
  return exit_done;
}

// Each open stream needs a descriptor: as many as the system allows.
void allow_descriptors() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0)
    return;
  now.rlim_cur = now.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &now);
}

int serve(const serve_flags& o, bool json) {
  if (!o.new_key_name.empty())
    return print_new_key(o.new_key_name, json);
  allow_descriptors();
  stop_signals signals;
  auto options = o.options();
  std::promise<void> asked;
  agent_server serving{options};
  signals.watch([&asked] { asked.set_value(); },
                "stopping: runs stop at the end of their step, and go on when it serves again");
  auto host = options.address.find(':') == std::string::npos ? options.address
                                                             : '[' + options.address + ']';
  auto url = (options.tls_certificate.empty() ? "http://" : "https://") + host + ':'
             + std::to_string(serving.port());
  if (json)
    print_line(json_line("serve", {{"url", to_json(value(url))}}));
  else
    std::cout << "serving " << options.graphs.size() << " graphs at " << url << std::endl;
  asked.get_future().wait();
  serving.drain();
  signals.watch(std::nullopt);
  return exit_done;
}

} // namespace

void define_serve(CLI::App* command, chosen_command& chosen) {
  auto o = add_serve_flags(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object when it listens");
  command->footer(
    std::string{"The API is that of LangGraph's Agent Server; its clients work as they are:\n"
                "  from langgraph_sdk import get_sync_client\n"
                "  client = get_sync_client(url=\"http://127.0.0.1:2024\")\n"
                "  client.runs.wait(None, \"hello\", input={})\n"
                "A key for clients that send x-api-key, and a server that asks for it:\n"
                "  troupe serve --new-api-key web >> keys\n"
                "  troupe serve --api-keys keys --listen 0.0.0.0:2024\n"}
    + exit_codes_help);
  command->callback([o, &chosen] { chosen.run = [o, &chosen] { return serve(*o, chosen.json); }; });
}

} // namespace troupe::cli
