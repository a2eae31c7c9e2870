// The graph that runs over three hosts while the network between them fails.
#pragma once

#include <troupe/state_graph.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace network {

/// The input of a run, and its state.
/// Shape:  `log` gets an entry of each task, in the order of the tasks: `rROUND.tNUMBER`, and of
///         each of the three steps of a group `rROUND.gNUMBER.sSTEP`. `prefix` comes before each:
///         workers may have several runs.
/// Units:  `body_ms`: how long a body takes; `rest_ms`: how long the home does nothing between two
///         rounds; `payload`: bytes each task gets along.
struct state {
  std::int64_t rounds = 0;
  std::int64_t tasks = 0;
  std::int64_t groups = 0;
  std::int64_t body_ms = 0;
  std::int64_t rest_ms = 0;
  std::int64_t payload = 0;
  std::int64_t round = 0;
  std::string prefix;
  std::vector<std::string> log;
  TROUPE_STATE(state, rounds, tasks, groups, body_ms, rest_ms, payload, round, prefix,
               (log, troupe::append))
};

/// Where bodies note that they began and ended: `S KEY NAME PID NANOSECONDS`, `E …`; a line is one
/// write to a file that outlives the process. Empty: nowhere.
void note_effects(const std::string& file, const std::string& name);

/// Two super-steps a round: tasks and groups on workers, then one here. `groups_here`: groups are
/// runs of the home, and their nodes are placed; else groups are placed.
troupe::typed_graph<state> build(bool groups_here);

std::int64_t now_ns();

} // namespace network
