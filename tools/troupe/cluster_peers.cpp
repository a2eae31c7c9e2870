// troupe cluster status, drain: how the processes of a cluster are.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/drain_flags.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/peer_flags.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <thread>

namespace troupe::cli {

namespace {

std::string text(const value& v) {
  return v.is_string() ? std::string{v.as_string()} : to_json(v);
}

std::string joined(const value& list) {
  std::string out;
  for (const auto& item : list.items())
    out += (out.empty() ? "" : ",") + text(item);
  return out.empty() ? "-" : out;
}

std::string milliseconds(const value& v) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f", v.is_number() ? v.as_double() : 0.0);
  return out;
}

void print_row(const std::array<std::string, 8>& cells) {
  constexpr std::array widths{22, 18, 14, 9, 9, 10, 10, 0};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (auto width = static_cast<std::size_t>(widths[i]); i + 1 < cells.size())
      line.append(cells[i].size() < width ? width - cells[i].size() : 1, ' ');
  }
  std::cout << line << '\n';
}

void print_worker(const std::string& at, const value& w) {
  const auto& homes = w["homes"];
  print_row({at, text(w["name"]), joined(w["labels"]),
             text(w["running"]) + "/" + text(w["capacity"]), std::to_string(homes.size()),
             homes.empty() ? "-" : milliseconds(homes[0]["lease_left_ms"]),
             milliseconds(w["tasks"]["p50_ms"]), w["draining"].as_bool() ? "draining" : "up"});
}

void print_home(const std::string& at, const value& home) {
  for (const auto& w : home["workers"].items())
    print_row({at, text(w["name"]), joined(w["labels"]),
               text(w["running"]) + "/" + text(w["capacity"]), "1",
               milliseconds(w["lease_left_ms"]), milliseconds(w["round_trip"]["smoothed_ms"]),
               w["draining"].as_bool()    ? "draining"
               : w["reachable"].as_bool() ? "up"
                                          : "unreachable"});
}

// One that does not answer is shown as such, and makes the command fail.
int show(const std::vector<std::string>& peers, const peer_access& access, bool json) {
  int out = exit_done;
  if (!json)
    print_row({"ADDRESS", "NAME", "LABELS", "TASKS", "HOMES", "LEASE MS", "P50 MS", "STATE"});
  for (const auto& at : peers) {
    auto status = peer_status(at, access);
    if (!status && status.error().code() != errc::worker_lost)
      throw status.error();
    if (!status)
      out = exit_failed;
    if (json)
      print_line(json_line("peer", {{"address", to_json(value(at))},
                                    {"status", status ? to_json(*status) : "null"}}));
    else if (!status)
      print_row({at, "-", "-", "-", "-", "-", "-", "no answer"});
    else if ((*status)["kind"] == value("home"))
      print_home(at, *status);
    else
      print_worker(at, *status);
  }
  std::cout << std::flush;
  return out;
}

void add_status(CLI::App& cluster, chosen_command& chosen) {
  auto* command = cluster.add_subcommand(
    "status", "Show workers, and homes that listen: labels, tasks, leases, latencies");
  auto peers = std::make_shared<std::vector<std::string>>();
  auto watch = std::make_shared<bool>(false);
  command->add_option("ADDRESS", *peers, "HOST:PORT of each")->required();
  command->add_flag("--watch", *watch, "Again each second, until Ctrl-C");
  auto flags = add_peer_flags(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->callback([&chosen, peers, watch, flags] {
    chosen.run = [&chosen, peers, watch, flags] {
      peer_access access{.tls = flags->tls(), .plain = flags->plain};
      for (;;) {
        auto code = show(*peers, access, chosen.json);
        if (!*watch)
          return code;
        std::this_thread::sleep_for(std::chrono::seconds{1});
      }
    };
  });
}

void add_drain(CLI::App& cluster, chosen_command& chosen) {
  auto* command = cluster.add_subcommand(
    "drain", "Have a worker take no more tasks, give its graphs back at their next step border, "
             "and end when its other tasks did");
  auto at = std::make_shared<std::string>();
  auto why = std::make_shared<std::string>("asked to by troupe cluster drain");
  command->add_option("ADDRESS", *at, "HOST:PORT of the worker")->required();
  command->add_option("--why", *why, "What its homes log");
  auto patience = add_drain_timeout(*command, "--timeout");
  auto flags = add_peer_flags(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback([&chosen, at, why, patience, flags] {
    chosen.run = [&chosen, at, why, patience, flags] {
      peer_access access{.tls = flags->tls(), .plain = flags->plain};
      auto status = drain_worker(*at, *why, access, milliseconds_of(*patience)).value();
      if (chosen.json)
        print_line(
          json_line("peer", {{"address", to_json(value(*at))}, {"status", to_json(status)}}));
      else
        std::cout << text(status["name"]) << " drains; it has " << text(status["running"])
                  << " tasks\n";
      return static_cast<int>(exit_done);
    };
  });
}

} // namespace

void add_cluster_peers(CLI::App& cluster, chosen_command& chosen) {
  add_status(cluster, chosen);
  add_drain(cluster, chosen);
}

} // namespace troupe::cli
