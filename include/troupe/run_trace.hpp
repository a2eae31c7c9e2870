// The trace of a thread's runs: what ran at each node of its graph, and where it waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct state_snapshot; // runtime.hpp
struct stream_part;    // runtime.hpp

/// The tasks of one node.
/// Shape:  a task counts where it is at the end: among those that ran, failed, ask or wait.
/// Units:  `time` is the sum over the tasks that ran, of the wall clock; 0 where it is unknown.
/// Errors: none.
/// Source: troupe.
struct node_trace {
  std::size_t ran = 0;
  std::size_t failed = 0;
  std::size_t asks = 0;  ///< a question waits for its answer
  std::size_t waits = 0; ///< would run next, or had begun when its run ended
  std::chrono::microseconds time{0};
  friend bool operator==(const node_trace&, const node_trace&) = default;
};

/// The nodes that had tasks, by name; a node of a nested graph by the path of names, as
/// "outer|inner". draw_options::trace draws it.
/// Errors: none.
/// Source: troupe.
struct run_trace {
  std::map<std::string, node_trace> nodes;
  friend bool operator==(const run_trace&, const run_trace&) = default;
};

/// The trace of a thread's history.
/// Shape:  the result of basic_app::get_state_history, newest first. A node in which a nested graph
///         ran counts as one; tasks within it are there when the newest snapshot has subgraphs.
/// Units:  a task's time is that of its step: between two checkpoints, with the time at a
///         breakpoint. A step in which a question was asked has no time.
/// Errors: none; a time that is not ISO 8601 counts as unknown.
/// Source: troupe.
run_trace trace_of(const std::vector<state_snapshot>& history);

/// The trace of a stream's parts.
/// Shape:  parts of the modes `tasks` or `debug` in their order; others are ignored. With both, the
///         parts of mode `tasks` are ignored, too. Nested graphs are there with
///         run_config::subgraphs.
/// Units:  of mode `debug`, from the begin to the end of the task; of mode `tasks`, unknown.
/// Errors: none; a part without the members of its mode is ignored.
/// Source: troupe.
run_trace trace_of(std::span<const stream_part> parts);

} // namespace troupe
