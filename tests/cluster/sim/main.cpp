// troupe-cluster-sim: whole clusters from seeds.
//
//   troupe-cluster-sim --seeds FROM COUNT      10,000 of them: --seeds 1 10000
//   troupe-cluster-sim --seed N --trace        what happened in one of them
//   troupe-cluster-sim --seconds S             as many as fit
//   … --break WHAT                             break a guarantee on purpose: some seed must fail
//     (fence, lease, patience, capacity, commit, withdrawal, death, gate)
#include "tests/cluster/sim/simulation.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace troupe::cluster::sim {
namespace {

struct options {
  std::uint64_t from = 1, count = 1000;
  double seconds = 0;
  bool trace = false;
  breakage broken = breakage::none;
};

breakage breakage_of(const std::string& name) {
  if (name == "fence")
    return breakage::fence;
  if (name == "lease")
    return breakage::lease;
  if (name == "capacity")
    return breakage::capacity;
  if (name == "patience")
    return breakage::patience;
  if (name == "commit")
    return breakage::commit;
  if (name == "withdrawal")
    return breakage::withdrawal;
  if (name == "death")
    return breakage::death;
  if (name == "gate")
    return breakage::gate;
  std::cerr << "unknown: --break " << name << "\n";
  std::exit(2);
}

options read(const std::vector<std::string>& args) {
  options out;
  auto number = [&args](std::size_t i) {
    return i < args.size() ? std::strtoull(args[i].c_str(), nullptr, 10) : 0;
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--seeds") {
      out.from = number(i + 1);
      out.count = number(i + 2);
      i += 2;
    } else if (args[i] == "--seed") {
      out.from = number(++i);
      out.count = 1;
    } else if (args[i] == "--seconds") {
      out.seconds = static_cast<double>(number(++i));
      out.count = UINT64_MAX;
    } else if (args[i] == "--break" && i + 1 < args.size()) {
      out.broken = breakage_of(args[++i]);
    } else if (args[i] == "--trace") {
      out.trace = true;
    } else {
      std::cerr << "usage: troupe-cluster-sim [--seeds FROM COUNT | --seed N | --seconds S] "
                   "[--break WHAT] [--trace]\n";
      std::exit(2);
    }
  }
  return out;
}

int run(const options& how) {
  using clock = std::chrono::steady_clock;
  auto began = clock::now();
  auto seconds = [began] { return std::chrono::duration<double>(clock::now() - began).count(); };
  simulation::figures all;
  std::uint64_t seeds = 0, failed = 0, events = 0;
  for (; seeds < how.count && (how.seconds == 0 || seconds() < how.seconds); ++seeds) {
    auto drawn = make_plan(how.from + seeds);
    if (how.trace)
      std::cout << describe(drawn) << "\n";
    simulation one{drawn, how.broken, how.trace};
    try {
      one.run();
    } catch (const violation& why) {
      ++failed;
      std::cout << describe(drawn) << "\n  FAILED " << why.what()
                << "\n  again: troupe-cluster-sim --seed " << drawn.seed << " --trace\n";
      if (failed >= 5 || how.broken != breakage::none)
        break;
    }
    events += one.steps();
    all.faults += one.seen.faults;
    all.orders += one.seen.orders;
    all.reissued += one.seen.reissued;
    all.lost += one.seen.lost;
    all.stale += one.seen.stale;
    all.committed += one.seen.committed;
    all.failed += one.seen.failed;
    all.saves += one.seen.saves;
    all.ahead += one.seen.ahead;
    all.withdrawn += one.seen.withdrawn;
    all.ended += one.seen.ended;
    all.not_begun += one.seen.not_begun;
    all.slowest_end = std::max(all.slowest_end, one.seen.slowest_end);
  }
  std::cout << seeds << " seeds, " << failed << " failed, "
            << static_cast<double>(seeds) / seconds() << " seeds/s; " << events << " events, "
            << all.faults << " faults, " << all.orders << " orders, " << all.reissued
            << " handed out again, " << all.lost << " workers lost, " << all.ended
            << " of them seen to have ended, " << all.not_begun << " bodies not begun, "
            << all.stale << " stale messages dropped, " << all.committed << " outcomes stored, "
            << all.failed << " tasks failed, " << all.saves << " saves, " << all.ahead
            << " orders ahead, " << all.withdrawn << " withdrawn, slowest end "
            << std::chrono::duration<double>(all.slowest_end).count() << " s after the heal\n";
  return failed == 0 ? 0 : 1;
}

} // namespace
} // namespace troupe::cluster::sim

int main(int argc, char** argv) {
  namespace sim = troupe::cluster::sim;
  return sim::run(sim::read({argv + 1, argv + argc}));
}
