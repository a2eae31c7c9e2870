// troupe-network: the home and the workers of the tests that break the network between them.
//
//   troupe-network worker ORACLE NAME CERTIFICATES CAPACITY LISTEN JOIN   either may be `-`
//   troupe-network home DATA ORACLE CERTIFICATES LISTEN GROUPS_HERE INPUT [WORKER…]
//       begins or resumes the thread "t" until it is finished; prints `step NUMBER ID
//       NANOSECONDS` for each checkpoint that is durable, and `finished`
//   troupe-network show DATA        what the thread's checkpoints hold, as JSON
//
// CERTIFICATES is a path without `.pem` and `.key`, beside the `ca.pem`.
#include "tests/faults/network_graph.hpp"

#include <troupe/cluster.hpp>
#include <troupe/troupe.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using troupe::value;

troupe::link_certificates certificates(const std::string& path) {
  return {.certificate = path + ".pem",
          .key = path + ".key",
          .authority = fs::path{path}.parent_path() / "ca.pem"};
}

std::string given(const std::string& argument) {
  return argument == "-" ? "" : argument;
}

int work(const std::vector<std::string>& a) {
  network::note_effects(a[1], a[2]);
  troupe::worker_options options{.name = a[2],
                                 .listen = given(a[5]),
                                 .join = {},
                                 .capacity = static_cast<std::uint32_t>(std::stoul(a[4])),
                                 .tls = certificates(a[3])};
  if (a[6] != "-")
    options.join.push_back(a[6]);
  troupe::worker here{std::move(options), {network::build(false), network::build(true)}};
  std::cout << "ready " << here.port() << std::endl;
  here.wait();
  return 0;
}

int run_home(const std::vector<std::string>& a) {
  network::note_effects(a[2], "home");
  auto pool =
    troupe::connect_workers(
      {.workers = {a.begin() + 7, a.end()}, .listen = given(a[4]), .tls = certificates(a[3])})
      .value();
  troupe::runtime rt{{.data_dir = a[1], .workers = pool}};
  auto app = rt.load(network::build(a[5] == "yes"));
  troupe::run_config config{
    .thread_id = "t", .durability = troupe::durability::sync, .recursion_limit = 100'000};
  auto now = app.get_state(config);
  std::cout << "ready" << std::endl;
  if (now.config.checkpoint_id.empty() || !now.tasks.empty()) {
    auto input = now.config.checkpoint_id.empty()
                   ? troupe::run_input{troupe::from_json(a[6]).value()}
                   : troupe::run_input{nullptr};
    auto parts = app.stream(input, config, {troupe::stream_mode::checkpoints});
    while (auto part = parts.next()) {
      const auto& data = part->data;
      std::cout << "step " << data["metadata"]["step"].as_int() << " "
                << data["config"]["configurable"]["checkpoint_id"].as<std::string>() << " "
                << network::now_ns() << std::endl;
    }
  }
  std::cout << "finished" << std::endl;
  return 0;
}

// Newest first, as stored. `added`: what the log has beyond its parent's, or all of it where it
// does not begin with that.
value describe(const troupe::checkpoint_tuple& one, const std::vector<value>& log,
               const std::vector<value>& before) {
  bool grows = log.size() >= before.size() && std::equal(before.begin(), before.end(), log.begin());
  std::vector<value> added{log.begin() + (grows ? std::ssize(before) : 0), log.end()};
  return value::map({{"ns", one.ref.checkpoint_ns},
                     {"id", one.ref.checkpoint_id},
                     {"parent", one.parent_id},
                     {"step", one.metadata["step"]},
                     {"grows", grows},
                     {"added", value::list(std::move(added))}});
}

int show(const std::string& data) {
  auto saver = troupe::open_lmdb_saver(data).value();
  auto all = saver->list({}).value();
  std::map<std::pair<std::string, std::string>, std::vector<value>> logs; // by namespace and id
  std::vector<value> out;
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    std::vector<value> log;
    for (const auto& [name, v] : one->checkpoint.channel_values)
      if (name == "log")
        log.assign(v.items().begin(), v.items().end());
    const auto& ns = one->ref.checkpoint_ns;
    out.push_back(describe(*one, log, logs[{ns, one->parent_id}]));
    logs[{ns, one->ref.checkpoint_id}] = std::move(log);
  }
  std::cout << to_json(value::list(std::move(out))) << std::endl;
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> a(argv + 1, argv + argc);
  try {
    if (a.size() == 7 && a[0] == "worker")
      return work(a);
    if (a.size() >= 7 && a[0] == "home")
      return run_home(a);
    if (a.size() == 2 && a[0] == "show")
      return show(a[1]);
    std::cerr << "usage: see the top of tests/faults/network_program.cpp\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "troupe-network: " << e.what() << "\n";
    return 1;
  }
}
