// The statements of a case.
#pragma once

#include "tests/conformance/expr.hpp"

namespace troupe::conformance {

/// Runs the statements and gives what they return, null when they return nothing.
/// Errors: as evaluate(); the error of a `raise`.
term run_body(const script_json& statements, scope& s);

/// Whether the statements wait for a graph or a task: such a body belongs on the blocking lane.
bool waits(const script_json& statements);

} // namespace troupe::conformance
