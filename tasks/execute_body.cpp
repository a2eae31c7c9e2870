// execute_body: one attempt at a task, with the exceptions that its body throws and the questions
// it asks.
#include "tasks/execute_body.hpp"
#include "tasks/map_output.hpp"
#include "tasks/message_stream.hpp"

#include <cxxabi.h>

#include <atomic>
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

std::string place_of(const detail::task_scope& task) {
  const auto& graph = task.run->plan->options.name;
  return "node `" + task.node->name + (graph.empty() ? "`" : "` of graph `" + graph + '`');
}

error node_failure(const detail::task_scope& task, const std::string& type, const char* what) {
  return error{errc::node_failed, place_of(task) + " failed: " + type + ": " + what, type, what};
}

// Codes whose errors are thrown by what a body calls: a value, a model, a tool.
bool is_of_a_body(errc code) noexcept {
  switch (code) {
    case errc::invalid_value:
    case errc::invalid_update:
    case errc::missing_key:
    case errc::invalid_config:
    case errc::overloaded:
    case errc::node_timeout:
    case errc::node_failed: return true;
    default: return false;
  }
}

// Adds the node's name to an error that a body threw. Errors of a nested graph, of a route or of an
// update name their place already.
error placed(const detail::task_scope& task, const error& err) {
  const auto& text = err.message();
  bool named = text.starts_with("node `") || text.starts_with("route `");
  if (!is_of_a_body(err.code()) || named || task.node->name == START)
    return err;
  return error{err.code(), place_of(task) + ": " + text, err.type(), err.text()}
    .with_base(err.base())
    .with_details(err.details());
}

void fail(detail::task_scope& task, error err) {
  task.status = task_status::failed;
  task.failure = std::move(err);
  task.writes.clear();
}

void leave_upward(detail::task_scope& task, command what) {
  task.status = task_status::parent_command;
  auto why = what.graph == command::PARENT
               ? std::string{"a command for the parent graph, but this graph has no parent"}
               : "a command for graph `" + what.graph
                   + "`, but no graph around this one has that name";
  task.failure = error{errc::parent_command, "node `" + task.node->name + "`: " + why};
  task.upward = std::move(what);
  task.writes.clear();
}

// The only place that catches exceptions of a body.
template <class F> void guarded(detail::task_scope& task, F&& run) {
  try {
    run();
  } catch (node_interrupted& asked) {
    task.status = task_status::interrupted;
    task.questions = std::move(asked.questions);
    task.writes.clear();
  } catch (upward_command& c) {
    leave_upward(task, std::move(c.what));
  } catch (const error& err) {
    fail(task, placed(task, err));
  } catch (const node_error& err) {
    fail(task, node_failure(task, err.type(), err.what()));
  } catch (const std::exception& err) {
    fail(task,
         node_failure(task, type_name(typeid(err)), err.what()).with_base(reference_base(err)));
  } catch (...) {
    fail(task, node_failure(task, "unknown exception", "not a std::exception"));
  }
}

// Checked right before the body begins, since a process cannot notice that it was frozen.
bool may_begin(detail::task_scope& task) {
  if (!task.run->lease || task.run->lease->may_begin())
    return true;
  fail(task, task.run->lease->not_begun("node `" + task.node->name + '`'));
  return false;
}

// A body that asked a question and returned has caught the exception of interrupt(): its output
// does not count.
void check_it_left(const detail::task_scope& task) {
  if (task.left_to_ask.load(std::memory_order_relaxed))
    throw error{errc::invalid_graph,
                "node `" + task.node->name
                  + "`: its body asked a question and returned: do not catch what interrupt throws "
                    "(a catch (...) around it must throw it again)"};
}

// A command that a graph within the body sent to this graph counts as the body's output.
template <class F> void mapped(detail::task_scope& task, context& ctx, F&& output) {
  guarded(task, [&] {
    node_output out;
    try {
      out = output();
      check_it_left(task);
      stream_messages_of(task, out);
    } catch (upward_command& c) { // its messages are not streamed, as in the reference
      if (!sent_here(task, c.what))
        throw;
      c.what.graph.clear();
      out.parts.emplace_back(std::move(c.what));
    }
    task.writes = map_output(task, out, ctx);
    check_it_left(task); // a route may ask a question, too
    if (!task.early.empty())
      task.writes.insert(task.writes.begin(), task.early.begin(), task.early.end());
  });
}

} // namespace

void leave_to_ask(detail::task_scope& task, std::vector<interrupt> questions) {
  task.left_to_ask.store(true, std::memory_order_relaxed);
  throw node_interrupted{{}, std::move(questions)};
}

bool needs_pool(const detail::task_scope& task) noexcept {
  const auto& node = *task.node;
  return node.body.plain()
         && (node.lane == lane::blocking || task.timeout.given()
             || task.run->streaming_may_block());
}

error pool_refused(const detail::task_scope& task) {
  return error{errc::overloaded,
               "run node `" + task.node->name
                 + "`: the blocking lane takes no more jobs (blocking_queue_max), or "
                   "the runtime is stopping"};
}

void execute_body(detail::task_scope& task) {
  if (task.began == std::chrono::steady_clock::time_point{})
    task.began = std::chrono::steady_clock::now();
  context ctx{task};
  if (!may_begin(task))
    return;
  mapped(task, ctx, [&]() -> node_output {
    if (const auto* plain = task.node->body.plain())
      return (*plain)(task.input, ctx);
    node_output out; // START hands its input on
    out.parts.emplace_back(state_update{task.whole});
    return out;
  });
  task.took = std::chrono::steady_clock::now() - task.began;
}

void start_body(detail::task_scope& task, context& ctx, std::optional<coro<node_output>>& body) {
  task.began = std::chrono::steady_clock::now();
  if (!may_begin(task))
    return;
  guarded(task, [&] {
    body.emplace((*task.node->body.coroutine())(task.input, ctx));
    body->start();
  });
}

void finish_body(detail::task_scope& task, coro<node_output>& body, context& ctx) {
  mapped(task, ctx, [&] { return body.take(); });
}

const run_result& result_of(detail::task_scope& task, nested_end& end) {
  if (end.upward)
    throw upward_command{{}, std::move(*end.upward)};
  if (!end.how)
    throw end.how.error();
  if (end.how->paused())
    leave_to_ask(task, end.how->interrupts());
  return *end.how;
}

void finish_graph(detail::task_scope& task, nested_end end) {
  context ctx{task};
  mapped(task, ctx, [&]() -> node_output {
    const auto& how = result_of(task, end);
    node_output out;
    if (const auto& graph = task.node->body.graph(); graph && graph->single) // a workflow's result
      detail::add_part(out, how.value());
    else if (!how.value().is_null())
      out.parts.emplace_back(how.value().is_map() ? std::move(end.update)
                                                  : state_update{how.value()});
    return out;
  });
}

} // namespace troupe
