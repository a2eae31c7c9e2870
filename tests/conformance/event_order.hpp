// The events of tasks that ran side by side, put in the order of the tasks.
#pragma once

#include <troupe/runtime.hpp>

#include <string>
#include <vector>

namespace troupe::conformance {

/// A part for the custom stream that names the task that wrote it.
value signed_part(const value& part, const std::string& ns);

/// The parts as they would have come had the tasks of each step run one after another.
/// Shape:  the parts of a stream in which mode `debug` was asked for and custom parts are signed;
///         they come back unsigned. `handlers`: the namespaces of the error handlers that ran, each
///         under that of the task that failed.
/// Order:  within a step, in each graph: the parts of a task stay together and in their order;
///         tasks in the order in which they were announced, after them their error handlers in the
///         same order. Parts of a workflow and of the tasks it starts stay in the order of arrival.
std::vector<stream_part> in_task_order(std::vector<stream_part> parts,
                                       const std::vector<std::string>& handlers = {});

} // namespace troupe::conformance
