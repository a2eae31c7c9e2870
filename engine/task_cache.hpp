// task_cache: the key and the stored form of cached task writes. Pure.
// Source: langgraph/pregel/_algo.py and _loop.py.
#pragma once

#include "graph/task_write.hpp"

#include <troupe/node_cache.hpp>

namespace troupe {

/// The key of a task.
/// Shape:  `started`: a body started the task; such tasks share their cache entries between graphs.
/// Errors: exceptions of the policy's key_func.
cache_key key_of(const graph_plan& plan, const plan_node& node, bool started, const value& input);

/// The part of the cache that clear_cache empties for a node.
std::vector<std::string> cache_space(const graph_plan& plan, const std::string& node);
/// The same for all nodes of a graph.
std::vector<std::string> cache_space(const graph_plan& plan);

/// The same for a task that bodies start, in all graphs.
std::vector<std::string> task_cache_space(const std::string& task);

/// A task's writes as one value, and back.
/// Errors: from_cached() gives nullopt for a value of another form; then the task runs.
value to_cached(const graph_plan& plan, const task_write_list& writes);
std::optional<task_write_list> from_cached(const graph_plan& plan, const value& cached);

} // namespace troupe
