// delta_book: decides which checkpoints hold the values of delta channels. Pure.
//
// Invariants:
//  - A write stored with a checkpoint counts for one of its children only, the child that consumed
//    it. A child that did not consume all present and later writes to a channel holds the channel's
//    value itself (the value is *forced*). Otherwise the writes are marked as a branch's own.
//  - A version that moves because a value is stored triggers nothing: an entry that had seen the
//    old version has seen the new one.
// Source: langgraph/pregel/_loop.py and _checkpoint.py.
#pragma once

#include "engine/thread_state.hpp"
#include "graph/task_write.hpp"

#include <troupe/run_config.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// The delta channels of a graph while a run or an update works on a thread.
class delta_book {
public:
  /// Starts from a checkpoint, whose metadata hold how long ago each value was stored; null without
  /// a checkpoint. `plan` must outlive the book. With store_history::latest_only, a checkpoint that
  /// must hold one value holds all, so that nothing older is needed.
  void begin(const graph_plan& plan, const value& metadata,
             store_history history = store_history::all);

  /// Whether the graph has delta channels; without them, the members below do nothing.
  bool active() const noexcept { return !entries_.empty(); }

  /// Forces values into the next checkpoint that is stored:
  /// - force(): of the channels that these writes name
  /// - force_overwritten(): of the channels that these writes overwrite
  /// - force_all(): of all channels that were ever written
  void force(std::span<const pending_write> named);
  void force(const task_write_list& written);
  void force_overwritten(const task_write_list& writes);
  void force_all(const thread_state& state);

  /// A checkpoint was made, stored or not. `updated`: the channels that its step changed; nullptr:
  /// unknown.
  void count(const std::vector<channel_index>* updated);
  /// The same for an update from outside with these writes.
  void count(const task_write_list& written);

  /// The channels whose value a checkpoint stored now must hold.
  /// Order:  by index.
  std::vector<channel_index> due(const thread_state& state) const;

  /// As due(), and counts the values as stored: forced channels are done, counters restart, and the
  /// version of a channel that did not move moves.
  std::vector<channel_index> settle(thread_state& state);

  /// `metadata`, a map, in which the counters that are not zero replace earlier counters.
  /// Shape:  `counters_since_delta_snapshot`: channel → [updates, supersteps].
  value counted(value metadata) const;

  /// Whether the last settled checkpoint holds the values of all delta channels; true without any.
  bool needs_no_past() const noexcept;

private:
  struct entry {
    channel_index channel = 0;
    std::int64_t updates = 0;    // since the value was stored
    std::int64_t supersteps = 0; // since the value was stored
    bool forced = false;
  };
  entry* find(channel_index channel);
  bool due(const entry& e, const thread_state& state) const;
  void skip_unwritten(const thread_state& state);

  const graph_plan* plan_ = nullptr;
  std::vector<entry> entries_;
  bool all_at_once_ = false;
};

/// Adds the values of these delta channels to a checkpoint that take_checkpoint made.
void store_snapshots(const thread_state& state, const std::vector<channel_index>& channels,
                     checkpoint& out);

/// Moves the version of a channel without a write, so that a value can be stored under it. Entries
/// that had seen the old version have seen the new one; `__snapshot_bumps__` of versions_seen keeps
/// the versions that were really seen.
void bump_unwritten(thread_state& state, channel_index channel);

/// The state with the versions that were really seen: without the marks of bump_unwritten, and with
/// their changes undone.
thread_state seen_without_bumps(thread_state state);
/// Whether the state has such marks.
bool has_bumps(const thread_state& state);

/// The task path of writes that only a branch of their own consumes.
std::string branch_path(std::string_view task_path);

} // namespace troupe
