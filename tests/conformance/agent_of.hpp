// The prebuilt agents of a case.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/compiled_graph.hpp>

#include <string>

namespace troupe::conformance {

/// The agent that `declared` describes.
/// Owns:   refers to `declared` and `w`, which must outlive its runs.
/// Errors: throws error{invalid_graph}, and unsupported.
compiled_graph agent_of(const std::string& name, const script_json& declared, world& w);

} // namespace troupe::conformance
