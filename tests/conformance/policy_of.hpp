// The policies of a case's nodes and tasks.
#pragma once

#include "tests/conformance/documents.hpp"

#include <troupe/policy.hpp>

namespace troupe::conformance {

/// The member `retry` of a node, a task or defaults: one policy or a list of them. None of them
/// waits.
retry_policy retry_of(const script_json& declared);

/// The member `cache`.
cache_policy cache_of(const script_json& declared);

} // namespace troupe::conformance
