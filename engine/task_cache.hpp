// What the cache holds for tasks: under which key, and in which form. Pure.
// Source: langgraph/pregel/_algo.py and _loop.py.
#pragma once

#include "graph/task_write.hpp"

#include <troupe/node_cache.hpp>

namespace troupe {

/// The key of a task.
/// Shape:  `started`: by a body; such tasks share what they cache between graphs.
/// Errors: what the policy's key_func throws.
cache_key key_of(const graph_plan& plan, const plan_node& node, bool started, const value& input);

/// What clear_cache forgets for a node.
std::vector<std::string> cache_space(const graph_plan& plan, const std::string& node);
/// And for all nodes of a graph.
std::vector<std::string> cache_space(const graph_plan& plan);

/// For a task that bodies start, in all graphs.
std::vector<std::string> task_cache_space(const std::string& task);

/// A task's writes as one value, and back.
/// Errors: nothing for what is no such value: then the task runs.
value to_cached(const graph_plan& plan, const task_write_list& writes);
std::optional<task_write_list> from_cached(const graph_plan& plan, const value& cached);

} // namespace troupe
