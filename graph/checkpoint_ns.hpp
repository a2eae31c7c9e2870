// Checkpoint namespaces: where a graph within a graph keeps its state.
// The form is `node:task_id|child:task_id`, from the outside in. A graph with a state of its own
// per thread has no task id. The second and later runs of a graph within one task have a number
// after it (`node:id|1`).
// Source: langgraph/_internal/_config.py, recast_checkpoint_ns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The parts, from the outside in; empty for the root.
std::vector<std::string> split_namespace(std::string_view ns);

/// The namespace of a task: `ns|name:id`, without `ns|` at the root.
std::string task_namespace(std::string_view checkpoint_ns, std::string_view node,
                           std::string_view task_id);

/// The namespace without task ids.
std::string without_task_ids(std::string_view ns);

/// The names of the nodes, from the outside in, without numbers.
std::vector<std::string> nodes_of_namespace(std::string_view ns);

/// The namespace of the n-th graph (from 0) that the task with namespace `task_ns` runs.
std::string nested_namespace(std::string_view task_ns, bool per_thread, std::uint32_t nth);

} // namespace troupe
