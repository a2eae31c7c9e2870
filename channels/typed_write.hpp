// The type check of writes: whether a write fits the member of a typed state that its channel
// stands for.
#pragma once

#include <troupe/channel.hpp>

#include <optional>
#include <string>

namespace troupe {

/// The mismatch between a write and its channel's type, as "read a value: wanted integer: it is
/// string". nullopt for a channel without a known type (channel_spec::check).
/// Shape:  for an overwrite of a reducer's value, the overwriting value is checked.
/// Source: troupe.
std::optional<std::string> find_misfit(const channel_spec& spec, const value& write);

} // namespace troupe
