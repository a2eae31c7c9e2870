// The store as the bodies of a case see it.
#pragma once

#include "tests/conformance/expr.hpp"

#include <troupe/store.hpp>

namespace troupe::conformance {

/// The store of the task's run. Errors: throws node_error of the class AttributeError, as using
/// none does in the reference.
store& store_of(const scope& s);

/// The namespace that `expr` evaluates to.
store_namespace namespace_in(const script_json& expr, scope& s);
/// The same where it stands in a call; empty where it is absent.
store_namespace namespace_of(const script_json& declared);

} // namespace troupe::conformance
