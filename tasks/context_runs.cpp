// Runs within a body: graphs and tasks, which a thread of the blocking lane or a coroutine waits
// for.
#include "graph/task_id.hpp"
#include "tasks/execute_body.hpp"
#include "tasks/task_scope.hpp"

#include <troupe/completion.hpp>
#include <troupe/functional.hpp>

namespace troupe {

namespace {

// The task whose ctx.blocking() job this thread runs.
thread_local const detail::task_scope* job_of_thread = nullptr;

error wrong_lane(const detail::task_scope& task, const char* what) {
  return {errc::invalid_graph, "node `" + task.node->name + "`: it waits for " + what
                                 + " on a thread of the standard lane, which other tasks need: "
                                   "give the node lane::blocking, or make it a coroutine"};
}

} // namespace

blocking_job_of::blocking_job_of(const detail::task_scope& task) noexcept
  : outer_{std::exchange(job_of_thread, &task)} {}
blocking_job_of::~blocking_job_of() {
  job_of_thread = outer_;
}

bool may_wait(const detail::task_scope& task) noexcept {
  return task.may_block || job_of_thread == &task;
}

namespace detail {

std::function<void()> resume_of(task_scope& scope, std::coroutine_handle<> at) {
  if (!scope.host)
    throw wrong_lane(scope, "a completion");
  return scope.host->soft_waker(at);
}

void when_given_up(task_scope& scope, const void* who, std::function<void()> stop) {
  scope.when_given_up(who, std::move(stop));
}

void forget(task_scope& scope, const void* who) {
  scope.forget(who);
}

void show_life(task_scope& scope) noexcept {
  scope.sign_of_life();
}

error nobody_completes() {
  return {errc::cancelled,
          "wait for a completion: every object that could complete it was destroyed"};
}

std::shared_ptr<graph_call> prepare_graph(task_scope& scope, const compiled_graph& graph,
                                          const run_input& input, const value& metadata) {
  auto call = std::make_shared<graph_call>();
  call->run = {graph.plan(), input, scope.shared_from_this(), scope.graphs++, false, metadata};
  scope.sign_of_life();
  return call;
}

void await_graph(task_scope& scope, std::shared_ptr<graph_call> call,
                 std::coroutine_handle<> body) {
  if (!scope.host)
    throw wrong_lane(scope, "a graph");
  auto wake = scope.host->waker(body);
  auto stop = scope.run->graphs->start(call->run, [call, wake](nested_end end) {
    call->end = std::move(end);
    call->ended.release();
    wake();
  });
  scope.inner_runs(std::move(stop));
}

value take_graph(task_scope& scope, graph_call& call) {
  scope.sign_of_life();
  return result_of(scope, *call.end).value();
}

std::shared_ptr<task_call> start_task(task_scope& scope, std::shared_ptr<const plan_node> task,
                                      value arguments) {
  scope.sign_of_life();
  auto call = std::make_shared<task_call>();
  call->node = std::move(task);
  call->arguments = std::move(arguments);
  call->caller = scope.shared_from_this();
  call->index = scope.calls++;
  if (scope.run->calls) {
    scope.run->calls->call(call);
  } else {
    call->failure = error{errc::invalid_graph,
                          "start task `" + call->node->name + "`: no run can execute it here"};
    call->ended.release();
  }
  return call;
}

bool task_ended(const task_call& call) noexcept {
  return call.ended.open();
}

void wait_for_task(task_scope& scope, task_call& call) {
  if (call.ended.open())
    return;
  if (!may_wait(scope))
    throw wrong_lane(scope, "a task");
  scope.run->graphs->wait(call.ended);
}

void await_task(task_scope& scope, std::shared_ptr<task_call> call, std::coroutine_handle<> body) {
  if (!scope.host)
    throw wrong_lane(scope, "a task");
  call->ended.when_open(scope.host->waker(body));
}

value take_task(task_scope& scope, task_call& call) {
  scope.sign_of_life();
  if (call.paused)
    leave_to_ask(scope, call.questions);
  if (call.failure)
    throw *call.failure;
  return call.returned;
}

} // namespace detail

value context::invoke(const compiled_graph& graph, const run_input& input, const value& metadata) {
  if (!may_wait(*scope_))
    throw wrong_lane(*scope_, "a graph");
  auto call = detail::prepare_graph(*scope_, graph, input, metadata);
  call->end = scope_->run->graphs->run_here(call->run);
  return detail::take_graph(*scope_, *call);
}

} // namespace troupe
