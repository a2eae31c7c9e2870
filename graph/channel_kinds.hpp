// Facts about the kinds of channels that the compiler and the rules share.
#pragma once

#include <troupe/channel.hpp>

namespace troupe {

/// Whether a step that writes nothing to the channel must still tell it (it then forgets).
constexpr bool reacts_to_silence(const channel_spec& spec) {
  return spec.kind == channel_kind::any_value || spec.kind == channel_kind::ephemeral
         || (spec.kind == channel_kind::topic && !spec.accumulate);
}

/// Whether the kind waits for finish_channel().
constexpr bool waits_for_finish(const channel_spec& spec) {
  return spec.kind == channel_kind::named_barrier_after_finish
         || spec.kind == channel_kind::last_value_after_finish
         || (spec.kind == channel_kind::named_quorum && spec.patience.count() > 0);
}

/// Whether a version without a stored value means that the value is in the writes before it: the
/// channel is a delta channel, or may have been one.
constexpr bool replays_history(channel_kind kind) {
  return kind == channel_kind::delta || kind == channel_kind::binary_operator;
}

} // namespace troupe
