// Retries: when a failed task is tried again. Pure.
// Source: langgraph/pregel/_retry.py.
#pragma once

#include "graph/graph_plan.hpp"

#include <chrono>
#include <optional>

namespace troupe {

/// The wait before the next attempt; nullopt when the task has failed for good.
/// Shape:  `attempt`: the one that failed, from 1; `random` in [0, 1).
std::optional<std::chrono::nanoseconds> retry_delay(const retry_policy& policy,
                                                    std::uint32_t attempt, const error& failure,
                                                    double random);

/// The failure of a task whose node's circuit breaker is open for this time.
/// Shape:  `because`: the class of the error that the node's last attempt failed with.
error breaker_error(const std::string& node, std::chrono::nanoseconds open_for,
                    const std::string& because);

/// The failure of a task that ran out of time.
/// Units:  `elapsed` since the attempt began, or since its last sign of life.
error timeout_error(const std::string& node, bool idle, std::chrono::nanoseconds bound,
                    std::chrono::nanoseconds elapsed);

} // namespace troupe
