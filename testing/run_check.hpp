// run_check: runs the body of a check, and turns the way it ends into the outcome.
#pragma once

#include "testing/expect.hpp"

#include <troupe/testing/conformance.hpp>

#include <functional>
#include <string>

namespace troupe::testing {

/// The outcome of a body that returns or throws.
/// Errors: none.
check_result run_check(const std::string& group, const std::string& name,
                       const std::function<void()>& body);

} // namespace troupe::testing
