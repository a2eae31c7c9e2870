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
constexpr bool waits_for_finish(channel_kind kind) {
  return kind == channel_kind::named_barrier_after_finish
         || kind == channel_kind::last_value_after_finish;
}

} // namespace troupe
