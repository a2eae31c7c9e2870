// When a checkpoint holds the values of delta channels. Pure.
//
// Invariants:
//  - A write stored with a checkpoint counts for one of its children only, the one that consumed
//  it:
//    a child that did not consume all writes to a channel that are or will be there holds the
//    channel's value itself (it is *forced*), or the writes are marked as a branch's own.
//  - A version that moves because a value is stored triggers nothing: whoever had seen the old one
//    has seen the new one.
// Source: langgraph/pregel/_loop.py and _checkpoint.py.
#pragma once

#include "engine/thread_state.hpp"
#include "graph/task_write.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// The delta channels of a graph while a run or an update works on a thread.
class delta_book {
public:
  /// Starts from a checkpoint: its metadata say how long ago each value was stored; null for none.
  /// `plan` must outlive the book.
  void begin(const graph_plan& plan, const value& metadata);

  /// Whether the graph has delta channels: the members below do nothing when it has none.
  bool active() const noexcept { return !entries_.empty(); }

  /// The next checkpoint that is stored shall hold the value: of the channels that any of these
  /// names; that these overwrite; of all that were ever written.
  void force(std::span<const pending_write> named);
  void force(const task_write_list& written);
  void force_overwritten(const task_write_list& writes);
  void force_all(const thread_state& state);

  /// A checkpoint was made, stored or not. `updated`: what its step changed; nullptr: unknown.
  void count(const std::vector<channel_index>* updated);
  /// Likewise, of an update from outside: what it wrote.
  void count(const task_write_list& written);

  /// The channels whose value a checkpoint stored now has to hold.
  /// Order:  by index.
  std::vector<channel_index> due(const thread_state& state) const;

  /// Likewise, and takes it that they are stored: what was forced is done, the counters begin
  /// again, and the version of a channel that did not move moves.
  std::vector<channel_index> settle(thread_state& state);

  /// `metadata`, a map, with the counters that are not zero, in place of those it may have.
  /// Shape:  `counters_since_delta_snapshot`: channel → [updates, supersteps].
  value counted(value metadata) const;

private:
  struct entry {
    channel_index channel = 0;
    std::int64_t updates = 0;    // since the value was stored
    std::int64_t supersteps = 0; // likewise
    bool forced = false;
  };
  entry* find(channel_index channel);
  bool due(const entry& e, const thread_state& state) const;

  const graph_plan* plan_ = nullptr;
  std::vector<entry> entries_;
};

/// Adds the values of these delta channels to a checkpoint that take_checkpoint made.
void store_snapshots(const thread_state& state, const std::vector<channel_index>& channels,
                     checkpoint& out);

/// Moves the version of a channel that nobody wrote, for a value to be stored under it. Who had
/// seen the old version has seen the new one; `__snapshot_bumps__` of versions_seen keeps what was
/// really seen.
void bump_unwritten(thread_state& state, channel_index channel);

/// What was really seen: the state without the marks of bump_unwritten, and what they say undone.
thread_state seen_without_bumps(thread_state state);
/// Whether there is something to undo.
bool has_bumps(const thread_state& state);

/// The task path of writes that only a branch of its own consumes.
std::string branch_path(std::string_view task_path);

} // namespace troupe
