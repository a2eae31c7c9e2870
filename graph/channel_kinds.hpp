// Facts about the kinds of channels that the compiler and the rules share.
#pragma once

#include <troupe/channel.hpp>

namespace troupe {

/// Whether a step that writes nothing to the channel must still be applied to it: the channel then
/// becomes empty.
inline bool reacts_to_silence(const channel_spec& spec) {
  return (spec.definition && spec.definition->each_step) || spec.kind == channel_kind::any_value
         || spec.kind == channel_kind::ephemeral
         || (spec.kind == channel_kind::topic && !spec.accumulate);
}

/// Whether the kind waits for finish_channel().
inline bool waits_for_finish(const channel_spec& spec) {
  return (spec.definition && spec.definition->finish)
         || spec.kind == channel_kind::named_barrier_after_finish
         || spec.kind == channel_kind::last_value_after_finish
         || (spec.kind == channel_kind::named_quorum && spec.patience.count() > 0);
}

/// Whether a channel that has a version but no stored value gets its value from earlier writes.
/// Such a channel is a delta channel, or may have been one.
constexpr bool replays_history(channel_kind kind) {
  return kind == channel_kind::delta || kind == channel_kind::binary_operator;
}

} // namespace troupe
