// serving: the lines of a server, and its end.
#include "tools/troupe/server/serving.hpp"

#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/json_lines.hpp"

#include <sys/resource.h>

#include <future>
#include <iostream>

namespace troupe::cli {

namespace {

std::string url_of(const server_options& options, std::uint16_t port) {
  auto host = options.address.find(':') == std::string::npos ? options.address
                                                             : '[' + options.address + ']';
  return (options.tls_certificate.empty() ? "http://" : "https://") + host + ':'
         + std::to_string(port);
}

std::string place_text(const server_options& options) {
  if (options.postgres)
    return "in the database";
  return options.data_dir.empty() ? "in memory" : options.data_dir;
}

// Each open stream needs a descriptor: as many as the system allows.
void allow_descriptors() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0)
    return;
  now.rlim_cur = now.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &now);
}

} // namespace

void print_addresses(const serve_settings& settings, const agent_server& serving, bool json) {
  auto url = url_of(settings.options, serving.port());
  std::string names;
  std::vector<value> list;
  for (const auto& [name, place] : settings.graphs) {
    names += (names.empty() ? "" : ", ") + name;
    list.emplace_back(name);
  }
  auto config = settings.config.empty() ? "" : std::filesystem::absolute(settings.config).string();
  if (json) {
    print_line(json_line("serve", {{"url", to_json(value(url))},
                                   {"graphs", to_json(value::list(std::move(list)))},
                                   {"config", to_json(value(config))}}));
    return;
  }
  std::cout << "serving " << names << "\n  API     " << url << "\n";
  if (!settings.options.disabled.meta)
    std::cout << "  docs    " << url << "/docs\n";
  std::cout << "  config  " << (config.empty() ? "none: the flags alone" : config) << "\n"
            << "  state   " << place_text(settings.options) << std::endl;
}

int run_until_stopped(stop_signals& signals, agent_server& serving,
                      const std::function<void()>& began) {
  allow_descriptors();
  std::promise<void> asked;
  signals.watch([&asked] { asked.set_value(); },
                "stopping: runs stop at the end of their step, and go on when it serves again");
  began();
  asked.get_future().wait();
  serving.drain();
  signals.watch(std::nullopt);
  return exit_done;
}

} // namespace troupe::cli
