// Which worker gets a task. Pure.
#pragma once

#include "cluster/wire/messages.hpp"

#include <troupe/limits.hpp>
#include <troupe/placement.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe::cluster {

/// What a home knows of a worker, as far as it matters here.
/// Shape: `labels` and `graphs` are sorted.
struct worker_view {
  std::string name;
  std::vector<std::string> labels;
  std::vector<graph_offer> graphs;
  std::uint32_t capacity = 0;  // tasks it may run now
  std::uint32_t ahead = 0;     // and so many more may wait there
  std::uint32_t running = 0;   // tasks of this home that it has
  std::uint32_t foreign = 0;   // of other homes, as far as is known
  issue_number last_given = 0; // the newest of its orders
  bool draining = false;
  bool reachable = true;  // its link is up
  bool heeds = true;      // it has said something since it was welcomed
  bool any_build = false; // both sides allow that its code of a graph is another build

  std::size_t ahead_bytes = 0; // of orders that were given ahead and are not answered

  bool takes_orders() const noexcept { return reachable && heeds && !draining; }
  bool has_room() const noexcept { return takes_orders() && running < capacity; }
  /// Whether an order of so many bytes may wait there.
  bool has_room_ahead(std::size_t bytes) const noexcept {
    return takes_orders() && running < std::uint64_t{capacity} + ahead
           && ahead_bytes + bytes <= limits::worker_ahead_bytes_max;
  }
};

/// Sorts what must be sorted.
void normalise(worker_view& worker);

/// Orders by name, then hash.
bool before(const graph_offer& a, const graph_offer& b) noexcept;

/// The first of the worker's graphs of that name; null: none has it.
const graph_offer* graph_called(const worker_view& worker, const std::string& name) noexcept;

/// A graph's version, build and structure as a log shows them.
std::string build_text(const std::string& hash, const std::string& build,
                       const std::string& version);

/// What helps against another build.
inline constexpr const char* other_builds_remedy =
  "; run the same build on both, or start both with --allow-other-builds "
  "(worker_pool_options::allow_other_builds, worker_options::allow_other_builds)";

struct place_request {
  const on_worker& where;
  const graph_offer& graph;
};

/// Whether a worker could take a task if it had room, or why never.
enum class fitness : std::uint8_t { fits, draining, no_label, no_graph, other_graph, other_build };

fitness fitness_of(const worker_view& worker, const place_request& request) noexcept;

/// The worker that gets the next task, of those that could take it; null when none has room. Of two
/// with equally many tasks the one whose last order is older, to pack the one whose is newer.
/// Shape: a worker that seems full with the tasks of other homes comes last, but comes: what it has
///        of others is news of yesterday.
const worker_view* pick(const std::vector<const worker_view*>& able, worker_choice how) noexcept;

/// The worker where an order of so many bytes waits, when none has room: the one that should come
/// to it first. Null when none may have more.
const worker_view* pick_ahead(const std::vector<const worker_view*>& able,
                              std::size_t bytes) noexcept;

/// Why no worker will ever take the task: who was looked at.
/// Errors: (the result) unknown_graph when workers have the label, and none of them the graph; else
///         worker_lost.
error why_nobody(const std::vector<const worker_view*>& workers, const place_request& request);

struct place_answer {
  const worker_view* worker = nullptr;
  std::optional<error> nobody; // neither: it must wait, all who could take it are full
};

/// The three above in one.
place_answer place(const std::vector<const worker_view*>& workers, const place_request& request);

} // namespace troupe::cluster
