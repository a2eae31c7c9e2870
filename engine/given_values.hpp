// What a caller gives to a graph, checked before anything is stored: an input, a command's update,
// an update from outside.
#pragma once

#include "graph/graph_plan.hpp"

#include <string_view>

namespace troupe {

/// How values that were given are checked.
/// Shape:  `what`: what they are, for messages ("the input"). `input`: only the channels of the
///         input schema count, else all channels of the state. `strict`: keys that are none of
///         these are refused, not dropped.
struct given_as {
  std::string_view what;
  errc code = errc::invalid_value;
  bool input = false;
  bool strict = false;
};

/// Errors: `how.code`, of class TypeError for a value that does not fit the member of a typed
///         state, else of class KeyError; the message names the channel.
/// Source: troupe; the reference drops unknown keys.
result<void> check_given(const graph_plan& plan, const state_update& update, const given_as& how);
/// The same of a map; any other value is left to who maps it to channels.
result<void> check_given(const graph_plan& plan, const value& input, const given_as& how);

} // namespace troupe
