// Whose turn it is among calls that run side by side.
#pragma once

#include <troupe/tool.hpp>

namespace troupe {

namespace detail {

/// Of one call. What depends on the order of the calls is refused until it is this one's turn.
struct tool_turn {
  bool open = true;
};

} // namespace detail

/// Leaves a call that must wait for its turn. Not a std::exception, so that a tool's own
/// `catch (const std::exception&)` lets it pass.
struct out_of_turn {};

} // namespace troupe
