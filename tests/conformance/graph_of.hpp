// The graphs of a case.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/state_graph.hpp>

#include <string>
#include <vector>

namespace troupe::conformance {

/// The graph that `declared` describes.
/// Owns:   refers to `declared` and `w`, which must outlive its runs.
/// Errors: throws error{invalid_graph} for a graph that can't be built, and unsupported.
compiled_graph graph_of(const std::string& name, const script_json& declared, world& w);

/// Node names: a list of them, "*" or nothing.
std::vector<std::string> node_names(const script_json& declared);

} // namespace troupe::conformance
