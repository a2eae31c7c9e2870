// The tools of a case, and its tool nodes.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/agents/tool_node.hpp>

#include <vector>

namespace troupe::conformance {

/// The tools that `declared`, an object of TOOLs, describes, in its order.
/// Owns:   they refer to `declared` and `w`.
/// Errors: throws error{invalid_graph}.
std::vector<tool> tools_of(const script_json& declared, world& w);

/// The options of a tool node in `declared`, besides its tools.
tool_node_options tool_options_of(const script_json& declared);

} // namespace troupe::conformance
