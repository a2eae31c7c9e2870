// The context: what a node body can read of its run, and what it can ask the run to do.
#pragma once

#include <troupe/control.hpp>
#include <troupe/coro.hpp>
#include <troupe/run_input.hpp>
#include <troupe/state.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace troupe {

class compiled_graph;
class store;
struct run_config;
template <class T> class completion;   // troupe/completion.hpp
enum class stream_mode : std::uint8_t; // troupe/runtime.hpp

/// The failure that an error handler gets.
/// Source: langgraph/errors.py, NodeError.
struct task_failure {
  std::string node;
  error failure; ///< after a restart its class (error::type()) and message
};

namespace detail {

struct task_scope; // tasks/task_scope.hpp
struct graph_call; // tasks/task_scope.hpp

/// Suspends a coroutine body; `arrange` asks the task's host to resume it later.
class suspension {
public:
  suspension(task_scope& scope, std::function<void(task_scope&, std::coroutine_handle<>)> arrange)
    : scope_{&scope},
      arrange_{std::move(arrange)} {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> body) { arrange_(*scope_, body); }
  void await_resume() const noexcept {}

private:
  task_scope* scope_;
  std::function<void(task_scope&, std::coroutine_handle<>)> arrange_;
};

std::shared_ptr<graph_call> prepare_graph(task_scope& scope, const compiled_graph& graph,
                                          const run_input& input, const value& metadata);
void await_graph(task_scope& scope, std::shared_ptr<graph_call> call, std::coroutine_handle<> body);
value take_graph(task_scope& scope, graph_call& call);

suspension sleep(task_scope& scope, std::chrono::nanoseconds delay);
suspension run_blocking(task_scope& scope, std::function<void()> job);

} // namespace detail

/// A job for the blocking lane, to be awaited under a name.
/// Errors: co_await throws what the job throws.
/// Source: troupe.
template <class R> class blocking_job {
public:
  explicit blocking_job(coro<R> job) : job_{std::move(job)} {}
  class awaiter {
  public:
    explicit awaiter(coro<R>& job) noexcept : job_{&job} {}
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> body) noexcept {
      return job_->await_suspend(body);
    }
    R await_resume() { return job_->await_resume(); }

  private:
    coro<R>* job_;
  };
  awaiter operator co_await() & noexcept { return awaiter{job_}; }
  void operator co_await() && = delete; // name the job first: `auto job = ctx.blocking(…);`

private:
  coro<R> job_;
};

/// A run of another graph inside a body, to be awaited once, under a name.
/// Errors: see context::run.
/// Source: langgraph/pregel/main.py, a graph called in a node.
class graph_run {
public:
  graph_run(detail::task_scope& scope, std::shared_ptr<detail::graph_call> call)
    : scope_{&scope},
      call_{std::move(call)} {}
  class awaiter {
  public:
    explicit awaiter(graph_run& run) noexcept : run_{&run} {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> body) {
      detail::await_graph(*run_->scope_, run_->call_, body);
    }
    value await_resume() { return detail::take_graph(*run_->scope_, *run_->call_); }

  private:
    graph_run* run_;
  };
  awaiter operator co_await() & noexcept { return awaiter{*this}; }
  void operator co_await() && = delete; // name it first: `auto inner = ctx.run(…);`

private:
  detail::task_scope* scope_;
  std::shared_ptr<detail::graph_call> call_;
};

/// A task's view of its run. Valid until the body returns. One thread at a time may use it, except
/// where a member allows several.
/// Errors: see the members. An error that leaves the body fails the task.
/// Source: langgraph/runtime.py, Runtime; langgraph/types.py, interrupt.
class context {
public:
  explicit context(detail::task_scope& scope) noexcept : scope_{&scope} {}
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// Returns the answer to `question`. Without an answer yet, leaves the body and pauses the run.
  /// When the run is resumed with an answer, the body runs again from its first line. A body's
  /// questions are answered in the order of the calls.
  ///
  /// The body is left by an exception, which a handler for std::exception does not catch. Code
  /// that catches everything around the call must rethrow it. A body that catches it and returns
  /// fails its task, because the question has no answer. The same holds for invoke(), run() and
  /// future::get() when the graph or task they wait for asks.
  /// Shape:  any value; null can't be an answer. `response_schema` is a JSON Schema for the reader,
  ///         and is not checked. An answer is stored before the body reads it. When the body throws
  ///         because of an unusable answer, the resumed run finds the same answer. Use
  ///         interrupt_as<T> or refuse_answer instead: then the question waits for another answer.
  /// Errors: the task fails with invalid_graph when its body asked a question and returned.
  /// Source: langgraph/types.py, interrupt.
  value interrupt(const value& question, const value& response_schema = {});

  /// The answer as a T, for every T with value_traits. An answer that is not a T is refused: the
  /// question stays open, with the same id, and waits for another answer.
  ///     auto yes = ctx.interrupt_as<bool>("Pay?");
  /// Shape:  `response_schema` is for the reader of the question; null: json_schema<T>(). The check
  ///         is that of T, not of `response_schema`. A struct with a TROUPE_STATE declaration needs
  ///         each of its members that is not optional, and takes no others.
  /// Errors: invalid_resume, with the node and the reason, when the answer does not fit T.
  /// Source: langgraph/types.py, interrupt with a response_schema.
  template <class T> T interrupt_as(const value& question, value response_schema = {}) {
    if (response_schema.is_null())
      if (auto derived = json_schema<T>(); !derived.empty())
        response_schema = std::move(derived);
    auto answer = interrupt(question, response_schema);
    try {
      if constexpr (typed_state<T>)
        detail::check_members<T>(answer);
      return answer.template as<T>();
    } catch (const error& e) {
      refuse_answer(e.message());
    }
  }

  /// Leaves the body because its last answer does not fit the question. The question stays open,
  /// with the same id.
  /// Errors: throws error{invalid_resume} with `why`.
  /// Source: troupe.
  [[noreturn]] void refuse_answer(const std::string& why);

  /// Runs another graph as part of this task and returns its output. A question of that graph is a
  /// question of this task. Finished tasks of the graph do not run again when the run is resumed.
  /// The n-th graph of a body keeps its state under the number n: run them in the same order each
  /// time.
  /// Shape:  `metadata` is a map or null; it overrides this task's metadata and
  ///         compile_options::metadata.
  /// invoke() is for plain bodies of the blocking lane, run() for coroutines:
  ///     auto inner = ctx.run(graph, {{"topic", topic}});
  ///     auto out = co_await inner;
  /// Errors: those of the graph; invalid_graph when invoke() is called on another lane.
  /// Source: langgraph/pregel/main.py, a graph called in a node.
  value invoke(const compiled_graph& graph, const run_input& input = {},
               const value& metadata = {});
  graph_run run(const compiled_graph& graph, const run_input& input = {},
                const value& metadata = {}) {
    return {*scope_, detail::prepare_graph(*scope_, graph, input, metadata)};
  }

  /// Sends a message to readers of the `messages` stream: a whole one, or a part of one (a message
  /// value with "chunk": true). A whole message whose id was streamed before is not streamed again.
  /// A node whose metadata has "nostream" among its "tags" streams nothing.
  void stream_message(const value& message);
  /// As stream_message, and writes the message to the channel `key`, before the writes that the
  /// body returns.
  /// Errors: invalid_update when the message has no id; missing_key for an unknown channel.
  /// Source: langgraph/graph/message.py, push_message.
  void push_message(const value& message, const std::string& key = "messages");

  /// Sends a part to readers of the `custom` stream; no effect without a reader.
  /// Blocks: with overflow::wait (the default), while stream_options::queue_parts_max parts wait.
  /// Thread: several threads may call write, stream_tool_event and stream_message at once.
  void write(const value& part);
  /// As write, for readers of the `tools` stream. A node whose metadata has "nostream" among its
  /// "tags" streams nothing.
  void stream_tool_event(const value& event);
  /// Whether the run has a reader of this stream.
  bool is_streaming(stream_mode mode) const noexcept;

  /// The state of the graph at the step's start: all its channels except managed ones, also in a
  /// task that was sent an argument.
  /// Shape:  empty in a task that was sent an argument, unless its node has
  ///         node_options::graph_state and runs here.
  /// Errors: none.
  /// Source: langgraph/pregel/_read.py, ChannelRead in a body.
  state_view graph_state() const;

  /// Asks the run to stop at the end of this step.
  void request_drain(std::string reason);

  /// Whether a long body should return soon: the run was given up, or another task of the step
  /// failed for good (run_config::sibling_timeout). The result of a body that saw true does not
  /// count: its task runs again when the thread is resumed.
  bool stop_requested() const noexcept;

  /// Restarts the idle time-out of this attempt: the body is still at work.
  void heartbeat() noexcept;

  /// The number of this attempt, from 1, and the time at which the first one began.
  std::uint32_t node_attempt() const noexcept;
  std::chrono::system_clock::time_point node_first_attempt_time() const noexcept;
  /// In an error handler, the failure of the task; null elsewhere.
  const task_failure* failure() const noexcept;

  /// The runtime's store; null without one.
  troupe::store* store() const noexcept;
  /// In an entrypoint: the value that the previous run saved on this thread; null in the first run.
  const value& previous() const noexcept;

  const std::string&
  checkpoint_ns() const noexcept;    ///< of this task: `node:id`, from the outermost graph inwards
  std::string checkpoint_id() const; ///< the checkpoint this step starts from
  const std::string& thread_id() const noexcept; ///< empty without a saver
  const std::string& node() const noexcept;
  const std::string& task_id() const noexcept;
  std::int64_t step() const noexcept;            ///< super-steps of the thread, from -1
  std::int64_t remaining_steps() const noexcept; ///< super-steps left before the recursion limit
  bool is_last_step() const noexcept;
  const value& run_context() const noexcept; ///< run_config::context
  /// run_context() as a T.
  /// Errors: throws error{invalid_value}.
  template <class T> T run_context_as() const { return run_context().template as<T>(); }
  /// The whole run_config::configurable, also in nested graphs, in started tasks and on workers.
  /// Shape:  a map, or null when the run was given none.
  /// Errors: none.
  /// Source: langchain_core/runnables/config.py, RunnableConfig["configurable"].
  const value& configurable() const noexcept;
  /// The config of the run as this task sees it. It has thread_id, checkpoint_ns(),
  /// checkpoint_id(), metadata(), configurable(), run_context(), the limits, and the run's id, name
  /// and tags. Include troupe/run_config.hpp to use it.
  /// Errors: none.
  /// Source: langchain_core/runnables/config.py, RunnableConfig; langgraph/runtime.py,
  ///         ExecutionInfo.
  run_config config() const;
  /// The id of the run; the same in the runs within it.
  const std::string& run_id() const;
  /// compile_options::metadata, overridden by run_config::metadata, overridden by the node's.
  const value& metadata() const noexcept;

  /// Suspends a coroutine body without holding a thread: `co_await ctx.sleep_for(10ms);`
  detail::suspension sleep_for(std::chrono::nanoseconds delay) {
    return detail::sleep(*scope_, delay);
  }

  /// Runs `job` on the blocking lane when it is awaited, and gives its result:
  ///     auto page = ctx.blocking([url] { return download(url); });
  ///     auto text = co_await page;
  /// The one-line form does not compile, because g++ 12 destroys a capturing lambda inside a
  /// co_await expression twice.
  /// Errors: the exception of `job`.
  template <class F> blocking_job<std::invoke_result_t<F&>> blocking(F job) {
    return blocking_job<std::invoke_result_t<F&>>{run_job(*scope_, std::move(job))};
  }

  /// An awaitable for an event from outside: a library's callback, another thread, an event loop.
  /// Include troupe/completion.hpp to use it.
  ///     auto answer = ctx.completion<int>();
  ///     ask_somebody([done = answer.completer()](int n) { done.set(n); });
  ///     auto n = co_await answer;
  /// Thread: the thread of the body; it may await several completions at once (when_all).
  template <class T = void> troupe::completion<T> completion() const;

  detail::task_scope& scope() noexcept { return *scope_; }

private:
  template <class F, class R = std::invoke_result_t<F&>>
  static coro<R> run_job(detail::task_scope& scope, F job) {
    std::exception_ptr failure;
    if constexpr (std::is_void_v<R>) {
      std::function<void()> call = [&] {
        try {
          job();
        } catch (...) {
          failure = std::current_exception();
        }
      };
      auto done = detail::run_blocking(scope, std::move(call));
      co_await done;
      if (failure)
        std::rethrow_exception(failure);
    } else {
      std::optional<R> answer;
      std::function<void()> call = [&] {
        try {
          answer.emplace(job());
        } catch (...) {
          failure = std::current_exception();
        }
      };
      auto done = detail::run_blocking(scope, std::move(call));
      co_await done;
      if (failure)
        std::rethrow_exception(failure);
      co_return std::move(*answer);
    }
  }

  detail::task_scope* scope_;
};

} // namespace troupe
