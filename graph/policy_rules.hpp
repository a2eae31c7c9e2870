// policy_rules: checks of the policies of nodes and tasks. Pure.
#pragma once

#include <troupe/policy.hpp>

#include <optional>
#include <string>

namespace troupe {

/// The first value of these policies that can't be kept: a length of time below 0, or a factor that
/// is below 0 or not a number.
/// Shape:  a sentence without the node's name; nullopt when all can be kept.
/// Source: langgraph/types.py, TimeoutPolicy (`must be greater than 0`); else troupe.
std::optional<std::string> find_unusable(const retry_policy& retry, const timeout_policy& timeout,
                                         const cache_policy& cache);

} // namespace troupe
