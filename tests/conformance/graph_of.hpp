// The graphs of a case.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/state_graph.hpp>

#include <compare>
#include <string>
#include <vector>

namespace troupe::conformance {

/// The graph that `declared` describes.
/// Owns:   refers to `declared` and `w`, which must outlive its runs.
/// Errors: throws error{invalid_graph} for a graph that can't be built, and unsupported.
compiled_graph graph_of(const std::string& name, const script_json& declared, world& w);

/// The options with which a graph or workflow is compiled.
compile_options compile_options_of(const std::string& name, const script_json& declared,
                                   const world& w);

/// The services of the case that a graph with calls uses.
struct services {
  bool saver = false;
  bool store = false;
  friend auto operator<=>(const services&, const services&) = default;
};
services services_of(const std::string& name, const script_json& declared);

/// The error handlers of a graph, which the reference draws as nodes without edges.
std::vector<std::string> handler_nodes(const script_json& declared);

/// Node names: a list of them, "*" or nothing.
std::vector<std::string> node_names(const script_json& declared);

} // namespace troupe::conformance
