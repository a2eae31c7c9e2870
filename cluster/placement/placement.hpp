// placement: chooses the worker for a task. Pure.
#pragma once

#include "cluster/wire/protocol.hpp"

#include <troupe/limits.hpp>
#include <troupe/placement.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe::cluster {

/// A home's view of a worker, for placement.
/// Shape: `labels` and `graphs` are sorted.
struct worker_view {
  std::string name;
  std::vector<std::string> labels;
  std::vector<graph_offer> graphs;
  std::uint32_t capacity = 0;  // tasks that may run there now
  std::uint32_t ahead = 0;     // more orders that may wait there
  std::uint32_t running = 0;   // orders of this home without an answer
  std::uint32_t foreign = 0;   // places of other homes, as of its last heartbeat
  issue_number last_given = 0; // its newest order
  bool draining = false;
  bool reachable = true;  // its link is up
  bool heeds = true;      // it has sent something since its welcome
  bool any_build = false; // both sides allow another build of a graph

  std::size_t ahead_bytes = 0; // of orders given ahead that have no answer

  bool takes_orders() const noexcept { return reachable && heeds && !draining; }
  bool has_room() const noexcept { return takes_orders() && running < capacity; }
  /// Whether an order of so many bytes may wait at the worker.
  bool has_room_ahead(std::size_t bytes) const noexcept {
    return takes_orders() && running < std::uint64_t{capacity} + ahead
           && ahead_bytes + bytes <= limits::worker_ahead_bytes_max;
  }
};

/// Sorts labels and graphs.
void normalise(worker_view& worker);

/// Orders by name, then hash.
bool before(const graph_offer& a, const graph_offer& b) noexcept;

/// The worker's first graph of that name; null when none has the name.
const graph_offer* graph_called(const worker_view& worker, const std::string& name) noexcept;

/// A graph's version, build and structure as a log shows them.
std::string build_text(const std::string& hash, const std::string& build,
                       const std::string& version);

/// The remedy for a difference in builds, for logs.
inline constexpr const char* other_builds_remedy =
  "; run the same build on both, or start both with --allow-other-builds "
  "(worker_pool_options::allow_other_builds, worker_options::allow_other_builds)";

struct place_request {
  const on_worker& where;
  const graph_offer& graph;
};

/// Whether a worker could take a task if it had room, or the reason why it never can.
enum class fitness : std::uint8_t { fits, draining, no_label, no_graph, other_graph, other_build };

fitness fitness_of(const worker_view& worker, const place_request& request) noexcept;

/// The worker that gets the next task; null when none has room. With equally many tasks, the worker
/// with the older last order wins; to pack, the one with the newer.
/// Shape:  a worker that seems full with tasks of other homes comes last, but is not excluded,
///         since figures about other homes are old.
const worker_view* pick(const std::vector<const worker_view*>& able, worker_choice how) noexcept;

/// The worker where an order of so many bytes waits, when no worker has room: the one that should
/// begin it first. Null when no order may wait at any.
const worker_view* pick_ahead(const std::vector<const worker_view*>& able,
                              std::size_t bytes) noexcept;

/// The reason why no worker can take the task, with the workers that were considered.
/// Errors: (the result) unknown_graph when workers have the label, but not the graph; otherwise
///         worker_lost.
error why_nobody(const std::vector<const worker_view*>& workers, const place_request& request);

/// Where a task goes. Neither member is set while all suitable workers are full: the task waits.
struct place_answer {
  const worker_view* worker = nullptr;
  std::optional<error> nobody;
};

/// Combines fitness_of, pick and why_nobody.
place_answer place(const std::vector<const worker_view*>& workers, const place_request& request);

} // namespace troupe::cluster
