// Running one attempt at a task: the body, what it throws, and the questions it asks.
#include "actors/task_scope.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>

namespace troupe {

namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : type.name();
  std::free(text);
  return out;
}

error node_failure(const detail::task_scope& task, const std::string& type, const char* what) {
  return error{errc::node_failed, "node `" + task.node->name + "` failed: " + type + ": " + what,
               type};
}

void fail(detail::task_scope& task, error err) {
  task.status = err.code() == errc::parent_command ? task_status::parent_command
                                                   : task_status::failed;
  task.failure = std::move(err);
  task.writes.clear();
}

// The only place that catches what a body throws.
template <class F> void guarded(detail::task_scope& task, F&& run) {
  try {
    run();
  } catch (node_interrupted& asked) {
    task.status = task_status::interrupted;
    task.question = std::move(asked.question);
    task.writes.clear();
  } catch (const error& err) {
    fail(task, err);
  } catch (const node_error& err) {
    fail(task, node_failure(task, err.type(), err.what()));
  } catch (const std::exception& err) {
    fail(task, node_failure(task, type_name(typeid(err)), err.what()));
  } catch (...) {
    fail(task, node_failure(task, "unknown exception", "no std::exception"));
  }
}

} // namespace

std::optional<value> run_shared::take_answer() {
  std::lock_guard lock{mutex_};
  return std::exchange(answer_, std::nullopt);
}

void run_shared::give_answer(value answer) {
  std::lock_guard lock{mutex_};
  answer_ = std::move(answer);
}

void run_body(detail::task_scope& task) {
  auto begin = std::chrono::steady_clock::now();
  guarded(task, [&task] {
    context ctx{task};
    node_output out;
    if (task.node->body.plain)
      out = task.node->body.plain(task.input, ctx);
    else
      out.parts.emplace_back(state_update{task.whole}); // START hands its input on
    task.writes = map_output(task, out, ctx);
  });
  task.took = std::chrono::steady_clock::now() - begin;
}

void start_body(detail::task_scope& task, context& ctx, std::optional<coro<node_output>>& body) {
  guarded(task, [&] {
    body.emplace(task.node->body.coroutine(task.input, ctx));
    body->start();
  });
}

void finish_body(detail::task_scope& task, coro<node_output>& body, context& ctx) {
  guarded(task, [&] {
    auto out = body.take();
    task.writes = map_output(task, out, ctx);
  });
}

} // namespace troupe
