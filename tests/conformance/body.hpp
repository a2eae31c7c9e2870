// The statements of a case.
#pragma once

#include "tests/conformance/expr.hpp"

namespace troupe::conformance {

/// Runs the statements and gives what they return, null when they return nothing.
/// Errors: as evaluate(); what a `raise` says.
term run_body(const script_json& statements, scope& s);

} // namespace troupe::conformance
