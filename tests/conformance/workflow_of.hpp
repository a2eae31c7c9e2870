// The functional workflows of a case, and their tasks.
#pragma once

#include "tests/conformance/graph_book.hpp"

namespace troupe::conformance {

/// The workflow that `declared` describes.
/// Owns:   refers to `declared` and `w`, which must outlive its runs.
/// Errors: throws error{invalid_graph} for one that can't be built, and unsupported.
compiled_graph workflow_of(const std::string& name, const script_json& declared, world& w);

/// One of its tasks. Owns, Errors: as workflow_of().
task_node task_of(const std::string& name, const script_json& declared, world& w);

} // namespace troupe::conformance
