// execute_body: runs the body of a task. Its end becomes the result of the task: writes, a failure,
// questions, or a command for a graph further out.
#pragma once

#include "tasks/task_scope.hpp"

namespace troupe {

/// Leaves a body because it, or a graph or task within it, asked a question that has no answer yet.
/// Not a std::exception, so that a body's own `catch (const std::exception&)` lets it pass. Caught
/// by execute_body() alone.
struct node_interrupted : detail::body_exit {
  std::vector<interrupt> questions;
};

/// Throws node_interrupted, and marks the task: a body that returns nevertheless has failed.
[[noreturn]] void leave_to_ask(detail::task_scope& task, std::vector<interrupt> questions);

/// Leaves a body with a command for a graph further out. Not a std::exception, as node_interrupted.
struct upward_command : detail::body_exit {
  command what;
};

/// Whether the body runs on a thread of the pool. It does when it asks for that, when it may wait
/// for a slow reader, or when its actor has to notice a time-out.
bool needs_pool(const detail::task_scope& task) noexcept;

/// The failure of a task whose body the pool refused.
error pool_refused(const detail::task_scope& task);

/// Runs a plain body to its end, with its routes, and fills in the result. Never throws. The task
/// began now, unless its `began` is set.
void execute_body(detail::task_scope& task);

/// The two halves around a coroutine body; neither throws. First, start_body() puts the body into
/// `body` and runs it to its first suspension; `body` stays empty when it could not be made. Later,
/// finish_body() takes its result when it is done.
void start_body(detail::task_scope& task, context& ctx, std::optional<coro<node_output>>& body);
void finish_body(detail::task_scope& task, coro<node_output>& body, context& ctx);

/// The result of a graph within a body; any other end leaves the body by an exception.
/// Errors: throws upward_command, node_interrupted, or the run's error.
const run_result& result_of(detail::task_scope& task, nested_end& end);

/// Fills in the result of a task whose node is a graph. Never throws.
void finish_graph(detail::task_scope& task, nested_end end);

} // namespace troupe
