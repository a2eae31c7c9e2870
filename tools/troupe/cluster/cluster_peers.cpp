// troupe cluster status, drain: how the processes of a cluster are.
#include "cluster/links/peer_watch.hpp"
#include "tools/troupe/cluster/definitions.hpp"
#include "tools/troupe/cluster/drain_flags.hpp"
#include "tools/troupe/cluster/status_table.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/peer_flags.hpp"
#include "tools/troupe/stop_signals.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>

namespace troupe::cli {

namespace {

using cluster::peer_answer;
using cluster::peer_watch;

constexpr std::chrono::milliseconds drain_interval{250};
constexpr int times_gone = 2; // its port was closed, or another one answered
constexpr std::chrono::seconds drain_silence_max{30};
constexpr std::chrono::milliseconds watch_interval{1000};
constexpr std::chrono::milliseconds watch_patience{900}; // what is late is shown the next time

std::string peer_members(const peer_answer& peer) {
  auto out = "\"address\":" + to_json(value(peer.at))
             + ",\"status\":" + (peer.status ? to_json(*peer.status) : "null");
  if (!peer.status)
    out += ",\"error\":" + to_json(value(peer.status.error().message()));
  return out;
}

std::string peers_line(const std::vector<peer_answer>& peers) {
  std::string list;
  for (const auto& peer : peers)
    list += (list.empty() ? "{" : ",{") + peer_members(peer) + "}";
  return json_line("peers", {{"peers", "[" + list + "]"}});
}

// One that does not answer is shown as such, and makes the command fail.
int show_once(peer_watch& watch, const peer_access& access, bool json) {
  auto peers = watch.ask(access.patience);
  for (const auto& peer : peers)
    if (json)
      print_line("{\"type\":\"peer\"," + peer_members(peer) + "}");
  if (!json)
    for (const auto& line : status_table(peers))
      std::cout << line << '\n';
  std::cout << std::flush;
  for (const auto& peer : peers)
    if (!peer.status && !json) // the table has no room for why
      std::cerr << "troupe: " << text_of(peer.status.error()) << '\n';
  return std::ranges::all_of(peers, [](const auto& peer) { return bool(peer.status); })
           ? exit_done
           : exit_failed;
}

/// The table, over the one before. A line that wrapped would be two: none does.
void redraw(const terminal& screen, const std::vector<std::string>& lines, std::size_t& drawn) {
  auto rows = std::min(lines.size(), std::max<std::size_t>(screen.height(), 3) - 1);
  std::string out = drawn > 0 ? "\33[" + std::to_string(drawn) + "A" : std::string{};
  for (std::size_t i = 0; i < rows; ++i)
    out += "\r" + screen.cut(lines[i]) + "\33[K\n";
  std::cout << out << "\33[J" << std::flush; // it may have become shorter
  drawn = rows;
}

int show_again_and_again(peer_watch& watch, stop_signals& signals, bool json) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  signals.watch(
    [&] {
      std::lock_guard lock{mutex};
      over = true;
      changed.notify_all();
    },
    {});
  terminal screen{STDOUT_FILENO};
  std::size_t drawn = 0;
  auto next = std::chrono::steady_clock::now();
  for (std::unique_lock lock{mutex}; !over; changed.wait_until(lock, next, [&] { return over; })) {
    lock.unlock();
    next += watch_interval;
    auto peers = watch.ask(watch_patience);
    if (json)
      print_line(peers_line(peers));
    else if (screen.is_tty())
      redraw(screen, status_table(peers), drawn);
    else
      for (const auto& line : status_table(peers))
        std::cout << line << '\n';
    std::cout << std::flush;
    lock.lock();
  }
  signals.watch(std::nullopt);
  return exit_done;
}

void add_status(CLI::App& cluster, chosen_command& chosen) {
  auto* command = cluster.add_subcommand(
    "status", "Show workers, and homes that listen: labels, tasks, leases, latencies");
  auto peers = std::make_shared<std::vector<std::string>>();
  auto watch = std::make_shared<bool>(false);
  command->add_option("ADDRESS", *peers, "HOST:PORT of each; a name stands for all its addresses")
    ->required();
  command->add_flag("--watch", *watch, "Repeat each second, until Ctrl-C");
  auto flags = add_peer_flags(*command);
  command->add_flag("--json", chosen.json,
                    "Print one JSON object a peer; with --watch, one a second");
  command->callback([&chosen, peers, watch, flags] {
    chosen.run = [&chosen, peers, watch, flags] {
      peer_access access{.tls = flags->tls(), .plain = flags->plain};
      if (!*watch)
        return show_once(*peer_watch::open(*peers, access).value(), access, chosen.json);
      stop_signals signals; // before anything that starts threads
      return show_again_and_again(*peer_watch::open(*peers, access).value(), signals, chosen.json);
    };
  });
}

struct drain_order {
  std::string worker; // its address, or its name
  std::vector<std::string> among;
  std::string why = "requested by troupe cluster drain";
  std::shared_ptr<double> patience;
  std::optional<double> wait; // seconds; 0: as long as it takes
};

enum class presence { there, gone, unknown };

/// Whether the worker with this status answers, or a home has it. A peer that is silent proves
/// nothing: one whose port is closed is gone.
presence presence_of(const std::vector<peer_answer>& peers, const value& worker) {
  auto is_it = [&worker](const value& w) {
    return w["name"] == worker["name"] && w["incarnation"] == worker["incarnation"];
  };
  auto has_it = [&](const peer_answer& peer) {
    return peer.status
           && ((*peer.status)["kind"] == value("home")
                 ? std::ranges::any_of((*peer.status)["workers"].items(), is_it)
                 : is_it(*peer.status));
  };
  if (std::ranges::any_of(peers, has_it))
    return presence::there;
  bool all_said =
    std::ranges::all_of(peers, [](const peer_answer& peer) { return peer.status || peer.refused; });
  return all_said ? presence::gone : presence::unknown;
}

/// `gone`, or how it was when `seconds` were over (0: never). A worker that nobody has heard of for
/// drain_silence_max is `unknown`.
presence wait_until_gone(peer_watch& watch, const value& worker, double seconds) {
  using clock = std::chrono::steady_clock;
  auto begin = clock::now(), heard = begin;
  std::chrono::duration<double> most{seconds};
  for (int gone = 0; gone < times_gone;) {
    auto next = clock::now() + drain_interval;
    auto now = presence_of(watch.ask(drain_interval), worker);
    gone = now == presence::gone ? gone + 1 : 0;
    if (now != presence::unknown)
      heard = clock::now();
    bool is_silent = clock::now() - heard > drain_silence_max;
    if (is_silent || (gone == 0 && seconds > 0 && clock::now() - begin > most))
      return now == presence::gone ? presence::there : now;
    std::this_thread::sleep_until(next);
  }
  return presence::gone;
}

struct drained_worker {
  value status; // from right before
  presence now;
};

result<drained_worker> drain(const drain_order& order, const peer_access& access) {
  cluster::drain_request what{.why = order.why, .patience = milliseconds_of(*order.patience)};
  auto among = order.among;
  if (order.worker.find(':') != std::string::npos)
    among = {order.worker};
  else
    what.worker = order.worker;
  if (among.empty())
    return error{errc::invalid_config, "drain worker `" + order.worker
                                         + "`: say where to look for this name: --at HOST:PORT"};
  auto watch = peer_watch::open(among, access);
  if (!watch)
    return watch.error();
  auto status = (*watch)->drain(std::move(what), access.patience);
  if (!status)
    return status.error();
  auto now = order.wait ? wait_until_gone(**watch, *status, *order.wait) : presence::there;
  return drained_worker{std::move(*status), now};
}

/// Prints the report for the operator. Returns the exit code.
int show_drained(const drain_order& order, const drained_worker& worker, bool json) {
  const auto& name = worker.status["name"].as_string();
  bool is_gone = worker.now == presence::gone;
  if (json)
    print_line(json_line("peer", {{"address", to_json(value(order.worker))},
                                  {"status", to_json(worker.status)},
                                  {"drained", is_gone ? "true" : "false"}}));
  else
    std::cout << name << " drains; it has " << to_json(worker.status["running"]) << " tasks\n";
  if (!order.wait)
    return exit_done;
  if (!json && is_gone)
    std::cout << name << " has drained\n";
  if (worker.now == presence::unknown)
    std::cerr << "troupe: worker `" << name
              << "` does not answer: nobody knows whether it has drained\n";
  else if (!is_gone)
    std::cerr << "troupe: worker `" << name << "` still drains after " << *order.wait << " s\n";
  return is_gone ? exit_done : exit_not_drained;
}

void add_drain(CLI::App& cluster, chosen_command& chosen) {
  auto* command =
    cluster.add_subcommand("drain", "Drain a worker: it takes no more tasks, gives its graphs back "
                                    "at the end of their step, and ends after its other tasks");
  auto order = std::make_shared<drain_order>();
  command->add_option("WORKER", order->worker, "Its name, or HOST:PORT of it")->required();
  command
    ->add_option("--at", order->among,
                 "Where to look for the name: workers, or homes that listen; may be repeated")
    ->type_name("HOST:PORT")
    ->allow_extra_args(false);
  command->add_option("--why", order->why, "The reason, which its homes log");
  order->patience = add_drain_timeout(*command, "--timeout");
  auto* wait =
    command
      ->add_option("--wait", order->wait,
                   "Wait until it has drained: exit code 0, or 8 after so many seconds, while it "
                   "still drains; 0 or no number: without end")
      ->type_name("SECONDS")
      ->expected(0, 1)
      ->check(CLI::Range(0.0, std::chrono::duration<double>{limits::worker_drain_max}.count()));
  auto flags = add_peer_flags(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback([&chosen, order, flags, wait] {
    if (*wait && !order->wait)
      order->wait = 0; // `--wait` alone
    chosen.run = [&chosen, order, flags] {
      peer_access access{.tls = flags->tls(), .plain = flags->plain};
      return show_drained(*order, drain(*order, access).value(), chosen.json);
    };
  });
}

} // namespace

void add_cluster_peers(CLI::App& cluster, chosen_command& chosen) {
  add_status(cluster, chosen);
  add_drain(cluster, chosen);
}

} // namespace troupe::cli
