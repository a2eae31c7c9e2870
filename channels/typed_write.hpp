// Whether a write fits the member of a typed state that its channel stands for.
#pragma once

#include <troupe/channel.hpp>

#include <optional>
#include <string>

namespace troupe {

/// What is wrong with a write to the channel, as "read a value: wanted integer: it is string";
/// nothing for a channel whose type is not known (channel_spec::check).
/// Shape:  of an overwrite of a reducer's value, that value is looked at.
/// Source: troupe.
std::optional<std::string> find_misfit(const channel_spec& spec, const value& write);

} // namespace troupe
