// node_times: how long the tasks of each node take, and so on which thread the next one runs.
#pragma once

#include "graph/graph_plan.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

/// The mean of durations of which the later ones count more, after one more.
/// Units:  nanoseconds; 0: none is known.
std::uint32_t mean_duration(std::uint32_t before, std::chrono::nanoseconds took) noexcept;

/// Whether tasks, or updates, of such a mean are too short to be worth another thread. False while
/// none is known.
bool is_trivial(std::uint32_t mean_ns) noexcept;

/// The durations of each node's tasks so far; shared by the groups of a graph.
class node_times {
public:
  explicit node_times(std::size_t nodes) : nodes_(nodes) {}
  /// The shorter of two in a row counts, since one may be long by accident: the first of all, or
  /// when the thread loses its processor. From a millisecond on each counts, since a body may be
  /// slow now and then.
  void add(node_index node, std::chrono::nanoseconds took);
  /// The same for a task that ran in the coordinator's turn. A trivial one counts by itself: on a
  /// thread that had to wake up, the same body takes longer.
  void add_here(node_index node, std::chrono::nanoseconds took);
  /// Whether the node's tasks are too short to be worth another thread. False while no duration is
  /// known.
  bool trivial(node_index node) const;
  /// Whether to run the node's next task in the coordinator's turn: a trivial one, or one of a few
  /// that may turn out to be.
  bool runs_here(node_index node);
  bool below(node_index node, std::chrono::nanoseconds bound) const;
  /// True for the first body of a node that held a thread for too long; later ones are not
  /// reported.
  bool report_slow(node_index node, std::chrono::nanoseconds took);

private:
  struct node_time {
    std::atomic<std::uint32_t> mean_ns = 0;  // as mean_duration has it
    std::atomic<std::uint32_t> last_ns = 0;  // of a task below a millisecond; 0: none is known
    std::atomic<std::uint8_t> elsewhere = 0; // tasks on other threads since the last try here
    std::atomic<bool> reported = false;
  };

  std::vector<node_time> nodes_;
};

} // namespace troupe
