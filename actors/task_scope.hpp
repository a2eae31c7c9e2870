// One attempt at a task: what its body is given, and what came of it. Passed by pointer between the
// coordinator and a node actor; only one of them works on it at a time.
#pragma once

#include "actors/run_shared.hpp"
#include "channels/channel.hpp"
#include "graph/task_write.hpp"

#include <troupe/context.hpp>

#include <chrono>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// How a task ended.
enum class task_status : std::uint8_t { done, failed, interrupted, parent_command };

namespace detail {

struct task_scope {
  // -- given by the coordinator
  std::shared_ptr<run_shared> run;
  const plan_node* node = nullptr;
  std::string id;
  std::string ns;          // NODE:ID, with the namespaces above it
  std::uint32_t slot = 0;  // of the step's task list
  std::uint32_t child = 0; // which of the node's actors runs it
  std::uint64_t epoch = 0; // of the coordinator's steps: a late answer carries an old one
  std::int64_t step = 0;   // super-steps, from -1
  std::int64_t stop = 0;   // the step the recursion limit ends at
  state_view input;
  value whole; // the input as stream modes show it; only when they are read
  std::vector<std::pair<channel_index, channel_cell>> route_cells; // what routes read, frozen
  value metadata;
  std::vector<value> answers; // to its questions, in order

  // -- filled in by the body's run
  task_status status = task_status::done;
  task_write_list writes;
  std::optional<error> failure;
  std::optional<interrupt> question;
  std::size_t asked = 0;    // questions asked so far
  std::size_t answered = 0; // of them answered: as many answers are stored
  std::chrono::nanoseconds took{0};

  // -- the host of a coroutine body
  std::function<void(std::chrono::nanoseconds, std::coroutine_handle<>)> sleep;
  std::function<void(std::function<void()>, std::coroutine_handle<>)> blocking;
};

} // namespace detail

using task_ptr = std::shared_ptr<detail::task_scope>;

/// Leaves a body whose question has no answer yet. Not a std::exception, so that a body's own
/// `catch (const std::exception&)` lets it pass. Caught by run_body alone.
struct node_interrupted {
  interrupt question;
};

/// Runs a plain body to its end, with its routes, and fills in what came of it. Never throws.
void run_body(detail::task_scope& task);

/// The two halves around a coroutine body: puts it into `body` and runs it to its first suspension
/// (`body` stays empty when it could not be made); and takes its result when it is done. Never
/// throw.
void start_body(detail::task_scope& task, context& ctx, std::optional<coro<node_output>>& body);
void finish_body(detail::task_scope& task, coro<node_output>& body, context& ctx);

/// The writes a node's output stands for: its update, its gotos, its edges, then its routes.
/// Errors: throws invalid_update, missing_key, or what a route throws.
/// Source: langgraph/graph/state.py, attach_node; spec/engine.md sections 4.3 and 4.4.
task_write_list map_output(detail::task_scope& task, const node_output& output, context& ctx);

} // namespace troupe
