// A channel's contents and the one table of what each kind does with them. Pure: no actor, no
// clock. The rules themselves are one kind a file.
#pragma once

#include "graph/channel_kinds.hpp"

#include <troupe/channel.hpp>

#include <optional>
#include <span>
#include <string_view>

namespace troupe {

/// The contents of a channel.
/// Shape:  `content` is the value, the list of a topic, or the sorted list of the names that a
///         barrier has seen. It is meaningless unless `set`. `finished` belongs to the
///         *_after_finish kinds. A defined channel has its parts in `content`, also when not `set`
///         (defined_channel.cpp).
struct channel_cell {
  value content;
  bool set = false;
  bool finished = false;
};

/// The contents before the first write: a reducer's initial value, empty for every other kind.
channel_cell initial_cell(const channel_spec& spec);

/// Applies the writes of one step. `writes` is empty when the step wrote other channels only.
/// Shape:  `writes` in task order. `name` is for messages.
/// Result: whether the channel counts as updated (its version moves). Never compares values.
/// Errors: invalid_update, with the reference's text; `cell` is as before.
/// Source: langgraph/channels/base.py, BaseChannel.update.
result<bool> update_channel(const channel_spec& spec, std::string_view name, channel_cell& cell,
                            std::span<const value> writes);

/// Called after a task ran with this channel among its triggers: barriers and
/// last_value_after_finish reset when they were available. Result: whether anything changed.
/// Errors: those of a channel_definition; `cell` is as before. None for the other kinds.
result<bool> consume_channel(const channel_spec& spec, std::string_view name, channel_cell& cell);

/// Called when nothing else is left to run: the *_after_finish kinds become available. Result:
/// whether anything changed. Errors: as consume_channel.
result<bool> finish_channel(const channel_spec& spec, std::string_view name, channel_cell& cell);

/// Whether a read gives a value (a barrier's is null).
bool channel_available(const channel_spec& spec, const channel_cell& cell);

/// The value a reader gets; null when not available.
value read_channel(const channel_spec& spec, const channel_cell& cell);

/// The value that a checkpoint stores; nullopt when it stores none.
/// Shape:  *_after_finish kinds store the pair [value, finished]. A topic stores its list and a
///         barrier its sorted names, even when these are empty. Untracked channels store nothing.
/// Source: langgraph/channels/base.py, BaseChannel.checkpoint.
std::optional<value> store_channel(const channel_spec& spec, const channel_cell& cell);

/// The contents that a stored value stands for; nullopt means that nothing is stored.
/// Errors: checkpoint_corrupt when the value is not of the shape store_channel writes, or when a
///         channel_definition refuses it.
result<channel_cell> load_channel(const channel_spec& spec, std::string_view name,
                                  const std::optional<value>& stored);

/// The contents of a channel whose checkpoint holds no value, from its history.
/// Shape:  `stored`: the value in the nearest checkpoint before it that has one; `writes`: all
///         writes applied to the channel since. The channel must satisfy replays_history().
/// Order:  `writes` oldest first. A delta channel folds them all at once: the writes after the last
///         overwrite onto the value of that overwrite. A reducer channel, which was a delta channel
///         then, takes them one by one.
/// Errors: as update_channel and load_channel.
/// Source: langgraph/channels/delta.py, DeltaChannel.replay_writes.
result<channel_cell> replay_channel(const channel_spec& spec, std::string_view name,
                                    const std::optional<value>& stored,
                                    std::span<const value> writes);

} // namespace troupe
