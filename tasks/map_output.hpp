// map_output: from the output of a body to the writes of its task.
#pragma once

#include "tasks/task_scope.hpp"

namespace troupe {

/// The writes that a node's output stands for: its update, its gotos, its edges, then its routes.
/// Errors: throws invalid_update, missing_key, upward_command, or what a route throws.
/// Source: langgraph/graph/state.py, CompiledStateGraph.attach_node.
task_write_list map_output(detail::task_scope& task, const node_output& output, context& ctx);

/// Whether a command from a graph within this task is for the task's own graph.
bool sent_here(const detail::task_scope& task, const command& c);

} // namespace troupe
