// The events of tasks that ran side by side, put in the order of the tasks.
#pragma once

#include <troupe/runtime.hpp>

#include <string>
#include <vector>

namespace troupe::conformance {

/// A part for the custom stream that says which task wrote it.
value signed_part(const value& part, const std::string& ns);

/// The parts as they would have come had the tasks of each step run one after another.
/// Shape:  the parts of a stream in which mode `debug` was asked for and custom parts are signed;
///         they come back unsigned. `handlers`: the namespaces of the error handlers that ran, each
///         under that of the task that failed.
/// Order:  within a step, in each graph: what belongs to a task stays together and in its order;
///         tasks in the order in which they were announced, behind them their error handlers in
///         the same order. What a workflow and the tasks it starts do stays as it came.
std::vector<stream_part> in_task_order(std::vector<stream_part> parts,
                                       const std::vector<std::string>& handlers = {});

} // namespace troupe::conformance
