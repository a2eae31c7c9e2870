// step_apply: applies the writes of a step. All channels change, or the state must be thrown away.
// Pure.
#pragma once

#include "engine/plan.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe {

/// A task whose writes are applied. Triggers of pull tasks and of updates from outside count as
/// seen; the input task has none.
struct applied_task {
  enum class kind : std::uint8_t { input, outside, pull, push };
  kind what = kind::pull;
  node_index node = no_index;              // no_index: the input
  const task_write_list* writes = nullptr; // null: the task wrote nothing
};

/// The writes of a step to one channel.
struct channel_change {
  channel_index channel;
  std::vector<value> writes; // in task order; empty: the step wrote other channels only
};

/// One application, in three stages, so that state channels may live elsewhere (in actors). First,
/// begin() changes the channels that the engine owns and returns the changes for state channels.
/// Then settle() takes the answer of each, and finish() closes the step. After an error the state
/// must be thrown away.
/// Source: langgraph/pregel/_algo.py, apply_writes.
class step_apply {
public:
  /// `bump` false: versions stay (previews of get_state). `tasks` in task order.
  step_apply(thread_state& state, bool bump) : state_{state}, bump_{bump} {}

  /// All three stages at once; the state channels are changed in the state. Returns as finish().
  result<std::span<const channel_index>> all(std::span<const applied_task> tasks);

  /// The changes for state channels: written channels in the order of their first write, then the
  /// reacting channels that nothing wrote to. The caller may move the writes out. Valid until the
  /// next begin(), which resets everything.
  result<std::span<channel_change>> begin(std::span<const applied_task> tasks);

  /// Takes the answer of a state channel: its contents now, and whether it counts as updated.
  void settle(channel_index channel, channel_cell cell, bool changed);

  /// For a preview: empties the channels that lose their value at the end of the step.
  void forget();

  /// The channels that were updated and are available; they are valid until the next begin().
  /// `hurried`: joins whose time is up.
  /// Errors: those of a channel_definition.
  result<std::span<const channel_index>> finish(std::span<const channel_index> hurried = {});

  /// Written channels that the graph does not have.
  const std::vector<std::string>& unknown() const noexcept { return unknown_; }

private:
  void mark_seen(const applied_task& task);
  result<void> consume(const applied_task& task);
  result<bool> finish_one(channel_index channel);
  void group(const applied_task& task);
  void add_group(channel_index channel);
  void empty_groups();
  void moved(channel_index channel);
  result<void> apply_here(const channel_change& change);

  thread_state& state_;
  bool bump_;
  bool bump_step_ = false;
  version next_;
  std::vector<channel_change> groups_; // the first `used_` of them; the others are empty
  std::size_t used_ = 0;
  std::vector<channel_index> touched_; // channels that this step changed or offered a change
  std::vector<channel_index> updated_;
  std::vector<std::string> unknown_;
};

/// `why` a channel refused its writes, with the tasks that wrote them.
/// Shape:  "… (written by node `a` and node `b`)", in task order; the input and updates from
///         outside under the names that their callers know.
/// Errors: none.
/// Source: troupe.
error refused_writes(const graph_plan& plan, std::span<const applied_task> tasks,
                     channel_index channel, const error& why);

/// step_apply::all(), once.
result<std::vector<channel_index>> apply_here(thread_state& state,
                                              std::span<const applied_task> tasks, bool bump,
                                              std::vector<std::string>* unknown = nullptr);

} // namespace troupe
