// remote (section G): tasks on workers, which are processes of this host with mutual TLS, and as a
// floor a bare round trip on such a link.

#include "bench/child.hpp"
#include "bench/graphs.hpp"

#include "cluster/links/certificates.hpp"
#include "cluster/links/link_network.hpp"
#include "cluster/links/link_system.hpp"

#include <troupe/cluster.hpp>
#include <troupe/placement.hpp>
#include <troupe/state_graph.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds patience{30};
constexpr std::int64_t tasks_many = 20'000;
constexpr std::int64_t tasks_of_a_while = 1000;
constexpr std::int64_t round_trips = 2000;

// ---- processes ----------------------------------------------------------------------------------

/// A CA with a certificate, for the time of a workload.
class identity {
public:
  identity() {
    auto now = std::chrono::system_clock::now();
    cluster::init_ca(dir_.path() / "ca", {}, now).value();
    cluster::issue_cert(dir_.path() / "ca", {.name = "bench"}, now).value();
  }
  static link_certificates in(const fs::path& dir) {
    return {dir / "bench.pem", dir / "bench.key", dir / "ca.pem"};
  }
  fs::path dir() const { return dir_.path() / "ca"; }
  link_certificates files() const { return in(dir()); }

private:
  scratch_dir dir_;
};

// ---- graphs -------------------------------------------------------------------------------------

schema counted() {
  return schema{{"counter", last_value}, {"results", append}};
}

state_update add_one(const state_view& s) {
  return state_update{}.set("counter", s["counter"].as_int() + 1);
}

/// The times at which each turn of a loop ended.
struct laps {
  std::vector<clock::time_point> times;
  std::vector<double> us() const {
    std::vector<double> out;
    for (std::size_t i = 1; i < times.size(); ++i)
      out.push_back(microseconds(times[i] - times[i - 1]));
    return out;
  }
};

/// A loop whose one node, or graph of one node, runs on a worker.
compiled_graph placed_loop(bool is_graph, laps* noted) {
  state_graph<> g{counted()};
  node_options there{.placement = on_worker{}};
  if (is_graph) {
    state_graph<> inner{counted()};
    inner.add_node("step", add_one);
    inner.add_edge(START, "step");
    g.add_node("step", inner.compile({.name = "inner"}), there);
  } else {
    g.add_node("step", add_one, there);
  }
  g.add_node("lap", [noted] {
    if (noted)
      noted->times.push_back(clock::now());
  });
  g.add_edge(START, "step");
  g.add_edge("step", "lap"); // edges are followed where their node runs; "lap" is at home
  g.add_conditional_edges(
    "lap", [](const state_view& s) { return s["counter"].as_int() < round_trips ? "step" : END; },
    {"step", END});
  return g.compile({.name = is_graph ? "remote_graphs" : "remote_steps"});
}

/// A step of many tasks on workers. Units: `ms` is the duration of each task.
compiled_graph placed_fan_out(std::int64_t tasks, std::int64_t ms) {
  state_graph<> g{counted()};
  node_options how{.placement = on_worker{}};
  if (ms > 0)
    how.lane = lane::blocking;
  g.add_node(
    "task",
    [ms](const state_view& argument) {
      if (ms > 0)
        std::this_thread::sleep_for(milliseconds{ms});
      return state_update{}.set("results", value::list({argument["i"]}));
    },
    how);
  g.add_conditional_edges(START,
                          [tasks](const state_view&) {
                            std::vector<send> sends;
                            for (std::int64_t k = 0; k < tasks; ++k)
                              sends.push_back(send{"task", value::map({{"i", k}})});
                            return sends;
                          },
                          {"task"});
  return g.compile({.name = "fan_out_" + std::to_string(tasks) + "_" + std::to_string(ms)});
}

std::vector<compiled_graph> all_graphs() {
  return {placed_loop(false, nullptr), placed_loop(true, nullptr), placed_fan_out(tasks_many, 0),
          placed_fan_out(tasks_of_a_while, 1), placed_fan_out(tasks_of_a_while, 20)};
}

// ---- a home with workers ------------------------------------------------------------------------

class cluster_of {
public:
  explicit cluster_of(int workers, std::uint32_t capacity) {
    pool_ = connect_workers({.listen = "127.0.0.1:0", .tls = who_.files()}).value();
    auto at = "127.0.0.1:" + std::to_string(pool_->port());
    for (int i = 0; i < workers; ++i)
      workers_.push_back(std::make_unique<child>(std::string{worker_job} + " " + at + " "
                                                 + who_.dir().string() + " w" + std::to_string(i)
                                                 + " " + std::to_string(capacity)));
    auto end = clock::now() + patience;
    while (peer_status(at, {.tls = who_.files()}).value()["workers"].size()
           < static_cast<std::size_t>(workers))
      expect(clock::now() < end, "workers that join");
  }

  std::shared_ptr<worker_pool> pool() const { return pool_; }

private:
  identity who_;
  std::shared_ptr<worker_pool> pool_;
  std::vector<std::unique_ptr<child>> workers_;
};

/// Bytes that this process sent and received over open TCP connections.
double tcp_bytes() {
  double out = 0;
  for (const auto& entry : fs::directory_iterator{"/proc/self/fd"}) {
    auto fd = std::stoi(entry.path().filename().string());
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
      out += static_cast<double>(info.tcpi_bytes_acked + info.tcpi_bytes_received);
  }
  return out;
}

double percentile(std::vector<double> all, double part) {
  auto at = static_cast<std::size_t>(part * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), all.end());
  return all[at];
}

/// Times the steps of a long run in each sample. Adds the p99 of all steps.
figure remote_superstep(const sampler& sample, bool is_graph) {
  cluster_of machines{1, 16};
  laps noted;
  std::vector<double> all;
  runtime home{{.workers = machines.pool()}};
  auto graph = home.load(placed_loop(is_graph, &noted));
  double bytes = 0;
  auto out = sample.exactly(7, [&] {
    noted.times.clear();
    auto before = tcp_bytes();
    auto result = graph.invoke(value::map({{"counter", 0}}), new_run(durability::exit));
    bytes = (tcp_bytes() - before) / round_trips;
    expect(result.value()["counter"] == value(round_trips), "the counter");
    expect(noted.times.size() == round_trips, "a lap a step");
    auto us = noted.us();
    all.insert(all.end(), us.begin(), us.end());
    return percentile(us, 0.5);
  });
  out.further = {{"p99_us", percentile(all, 0.99)}, {"wire_bytes_a_step", bytes}};
  return out;
}

figure remote_tasks(const sampler& sample, int workers, std::uint32_t capacity) {
  cluster_of machines{workers, capacity};
  runtime home{{.workers = machines.pool()}};
  auto graph = home.load(placed_fan_out(tasks_many, 0));
  double bytes = 0;
  auto out = sample.exactly(
    7,
    [&] {
      auto before = tcp_bytes();
      auto us = time_us([&] {
        auto result = graph.invoke(value::map({{"results", value::list()}}),
                                   new_run(durability::exit));
        expect(result.value()["results"].size() == tasks_many, "the results");
      });
      bytes = (tcp_bytes() - before) / tasks_many;
      return tasks_many / us * 1e6;
    },
    "per_s");
  out.further = {{"wire_bytes_a_task", bytes}};
  return out;
}

figure remote_sleeps(const sampler& sample, std::int64_t ms) {
  constexpr int workers = 3;
  constexpr std::uint32_t capacity = 16;
  cluster_of machines{workers, capacity};
  runtime home{{.workers = machines.pool()}};
  auto graph = home.load(placed_fan_out(tasks_of_a_while, ms));
  auto out = sample.exactly(7, [&] {
    return time_us([&] {
      auto result = graph.invoke(value::map({{"results", value::list()}}),
                                 new_run(durability::exit));
      expect(result.value()["results"].size() == tasks_of_a_while, "the results");
    });
  });
  auto places = static_cast<std::int64_t>(workers * capacity);
  auto turns = (tasks_of_a_while + places - 1) / places;
  out.further = {{"ideal_us", static_cast<double>(turns * ms * 1000)}};
  return out;
}

// ---- a bare round trip --------------------------------------------------------------------------

caf::behavior echo() {
  return {[](std::int64_t n) { return n; }};
}

struct asking {
  caf::actor peer;
  caf::actor whom;
  laps* noted = nullptr;
};

caf::behavior asks(caf::event_based_actor* self, const asking& how) {
  self->send(how.peer, std::int64_t{0});
  return {[self, how](std::int64_t n) {
    how.noted->times.push_back(clock::now());
    if (n < round_trips)
      self->send(how.peer, n + 1);
    else
      self->send(how.whom, true);
  }};
}

figure round_trip(const sampler& sample) {
  identity who;
  child other{std::string{echo_job} + " " + who.dir().string()};
  auto port = static_cast<std::uint16_t>(other.number());
  auto network = cluster::make_link_network(who.files(), false).value();
  auto& system = *network.system;
  caf::scoped_actor self{system};
  caf::actor peer;
  self
    ->request(cluster::link_dialer(system, "127.0.0.1").value(), patience, caf::connect_atom_v,
              std::string{"127.0.0.1"}, port)
    .receive([&peer](caf::node_id&, caf::strong_actor_ptr& at,
                     std::set<std::string>&) { peer = caf::actor_cast<caf::actor>(at); },
             [](caf::error&) {});
  expect(peer != nullptr, "a link");
  laps noted;
  std::vector<double> all;
  auto out = sample.exactly(7, [&] {
    noted.times.clear();
    auto asker = system.spawn(asks, asking{peer, caf::actor_cast<caf::actor>(self), &noted});
    self->receive([](bool) {});
    caf::anon_send_exit(asker, caf::exit_reason::user_shutdown);
    auto us = noted.us();
    all.insert(all.end(), us.begin(), us.end());
    return percentile(us, 0.5);
  });
  out.further = {{"p99_us", percentile(all, 0.99)}};
  return out;
}

} // namespace

// ---- the children -------------------------------------------------------------------------------

void be_a_worker(const std::string& arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::istringstream in{arguments};
  std::string home, dir, name;
  std::uint32_t capacity = 0;
  in >> home >> dir >> name >> capacity;
  worker here{
    {.name = name, .listen = "", .join = {home}, .capacity = capacity, .tls = identity::in(dir)},
    all_graphs()};
  here.wait();
}

void be_an_echo(const std::string& arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::istringstream in{arguments};
  std::string dir;
  in >> dir;
  auto network = cluster::make_link_network(identity::in(dir), false).value();
  auto door = network.system->spawn(echo);
  std::cout << cluster::listen_on(network, door, "127.0.0.1:0").value() << std::endl;
  for (;;)
    ::pause();
}

void add_remote(workloads& all) {
  all.push_back({"floor_basp_tls_round_trip", round_trip});
  all.push_back({"remote_superstep", [](const sampler& s) { return remote_superstep(s, false); }});
  all.push_back(
    {"remote_subgraph_superstep", [](const sampler& s) { return remote_superstep(s, true); }});
  all.push_back({"remote_tasks_20000", [](const sampler& s) { return remote_tasks(s, 1, 1024); }});
  all.push_back({"remote_tasks_20000", [](const sampler& s) { return remote_tasks(s, 2, 256); },
                 "two workers"});
  all.push_back({"remote_sleep_1000x1ms", [](const sampler& s) { return remote_sleeps(s, 1); }});
  all.push_back({"remote_sleep_1000x20ms", [](const sampler& s) { return remote_sleeps(s, 20); }});
}

} // namespace troupe::bench
