// check_given: checks the values that a caller gives to a graph before anything is stored: an
// input, a command's update, an update from outside.
#pragma once

#include "graph/graph_plan.hpp"

#include <string_view>

namespace troupe {

/// How given values are checked.
/// Shape:  `what`: the name of the values in messages ("the input"). `input`: only channels of the
///         input schema count, else all channels of the state. `strict`: other keys are refused,
///         not dropped.
struct given_as {
  std::string_view what;
  errc code = errc::invalid_value;
  bool input = false;
  bool strict = false;
};

/// Errors: `how.code`. A value that does not fit the member of a typed state has class TypeError,
///         any other error class KeyError; the message names the channel.
/// Source: troupe; the reference drops unknown keys.
result<void> check_given(const graph_plan& plan, const state_update& update, const given_as& how);
/// The same for a map; any other value is left to the code that maps it to channels.
result<void> check_given(const graph_plan& plan, const value& input, const given_as& how);

} // namespace troupe
