// The nodes of a case's graphs.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/state_graph.hpp>

#include <string>

namespace troupe::conformance {

/// Adds the node that `spec` describes; `input` are the channels it names, if it names some.
/// Owns:   the graph refers to `spec` and `w`, which must outlive its runs.
/// Errors: throws error{invalid_graph}, and unsupported.
void add_node(state_graph<>& graph, const std::string& name, const script_json& spec,
              std::optional<schema> input, world& w);

/// The `defaults` of nodes without members of their own.
node_defaults defaults_of(const script_json& declared, world& w);

} // namespace troupe::conformance
