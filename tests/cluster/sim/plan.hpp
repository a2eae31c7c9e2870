// The decisions of a seed before the first event: the processes, their abilities, the work and the
// faults.
#pragma once

#include "cluster/wire/lease.hpp"

#include <troupe/placement.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::cluster::sim {

/// Numbers from a seed (splitmix64): the same on every machine.
class dice {
public:
  explicit dice(std::uint64_t seed) : state_{seed} {}

  std::uint64_t next() {
    auto z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }
  std::uint64_t from_to(std::uint64_t a, std::uint64_t b) { return a + below(b - a + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  nanoseconds time(nanoseconds a, nanoseconds b) {
    return a + nanoseconds{static_cast<std::int64_t>(below((b - a).count() + 1))};
  }

private:
  std::uint64_t state_;
};

/// The rule that a simulation breaks on purpose, to see that it notices.
enum class breakage : std::uint8_t {
  none,
  fence,      // messages of an older issue count as if the newest had sent them
  lease,      // workers do not look at their lease
  patience,   // a home takes its own standstill for the silence of others
  capacity,   // workers take one task more than they announce
  commit,     // the store ignores claims
  withdrawal, // nobody asks for what waits at a worker
  death,      // a link that breaks counts as the end of its process
  gate,       // bodies begin without a look at the lease of their worker
};

struct worker_plan {
  std::uint32_t capacity = 1;
  std::vector<std::string> labels;
  std::vector<graph_offer> graphs;
  std::size_t host = 0;
};

struct task_plan {
  std::size_t run = 0;
  nanoseconds submitted{0}; // after its run began
  nanoseconds takes{0};
  bool group = false;  // saves, and can be given back
  bool poison = false; // kills its worker, until all is healed
  on_worker where = {};
};

struct run_plan {
  std::size_t home = 0;
  nanoseconds begins{0};
  graph_offer graph;
};

struct plan {
  std::uint64_t seed = 0;
  std::size_t homes = 1;
  std::vector<worker_plan> workers;
  std::vector<std::size_t> home_hosts;
  std::vector<run_plan> runs;
  std::vector<task_plan> tasks;
  std::size_t queue_max = 0;
  nanoseconds delay{0};      // of a message, at least
  nanoseconds jitter{0};     // and so much more at most
  nanoseconds fault_each{0}; // on average; 0: none
  nanoseconds heals_at{0};
  nanoseconds lane_max{0}; // from when a task is begun to when its body is, at most
  unsigned drift_percent = 0;
  bool wild = false; // faults of every kind; else one kind
  unsigned kind = 0;
  bool hostile = false; // peers repeat themselves, and speak of what is not theirs
};

/// The facts that the tasks of a step share: one of a few, so that steps change.
inline std::vector<std::uint8_t> step_of(std::uint64_t task) {
  return {static_cast<std::uint8_t>(task / 4)};
}

plan make_plan(std::uint64_t seed);
std::string describe(const plan& p);

} // namespace troupe::cluster::sim
