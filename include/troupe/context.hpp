// What a node body can ask of the run it is part of.
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
template <class T> class completion;   // troupe/completion.hpp
enum class stream_mode : std::uint8_t; // troupe/runtime.hpp

/// What an error handler is told.
/// Source: langgraph/errors.py, NodeError.
struct task_failure {
  std::string node;
  error failure; ///< after a restart its class (error::type()) and message
};

namespace detail {

struct task_scope; // tasks/task_scope.hpp
struct graph_call; // tasks/task_scope.hpp

/// Suspends a coroutine body until `wake` was carried out by the task's host.
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

/// A task's view of its run. Valid until the body returns; a body may use it from one thread at a
/// time.
/// Source: langgraph/runtime.py, Runtime; langgraph/types.py, interrupt.
class context {
public:
  explicit context(detail::task_scope& scope) noexcept : scope_{&scope} {}
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// The answer to `question`, or, when there is none yet, leaves the body and pauses the run:
  /// the body runs again from its first line when the run is resumed with an answer. Questions of
  /// a body are answered in the order of the calls.
  ///
  /// An exception leaves the body. It is not a std::exception, so `catch (const std::exception&)`
  /// lets it pass; a `catch (...)` around the call must throw it again. A body that caught it and
  /// returned fails its task: the question has no answer. The same holds for invoke(), run() and
  /// future::get() when what they wait for asks.
  /// Shape:  any value; null can't be an answer. `response_schema`: a JSON Schema for the
  ///         reader, not checked. An answer is stored before the body reads it: when it is not what
  ///         the body can use and the body throws, the run finds the same answer when it is
  ///         resumed. Use interrupt_as<T>, or refuse_answer: then the question waits for another
  ///         answer.
  /// Errors: invalid_graph, of the task: its body asked a question and returned.
  /// Source: langgraph/types.py, interrupt.
  value interrupt(const value& question, const value& response_schema = {});

  /// The answer as a T (anything a value can become).
  /// Errors: invalid_resume when the answer is no T: the question waits on, with the same id.
  /// Source: langgraph/types.py, interrupt with a response_schema.
  template <class T> T interrupt_as(const value& question, const value& response_schema = {}) {
    auto answer = interrupt(question, response_schema);
    try {
      return answer.template as<T>();
    } catch (const error& e) {
      refuse_answer(e.message());
    }
  }

  /// Leaves the body because the answer it was given last does not fit its question, which waits
  /// on, with the same id. Errors: throws error{invalid_resume} with `why`. Source: troupe.
  [[noreturn]] void refuse_answer(const std::string& why);

  /// Runs another graph as part of this task and gives its output. What it asks, this task asks;
  /// what it had finished is not run again when the run is resumed. The n-th graph a body runs
  /// keeps its state by that number: run them in the same order each time.
  /// Shape:  `metadata`: a map, or null: it stands over this task's, and compile_options::metadata.
  /// invoke() is for plain bodies of the blocking lane, run() for coroutines:
  ///     auto inner = ctx.run(graph, {{"topic", topic}});
  ///     auto out = co_await inner;
  /// Errors: what the graph fails with; invoke() on another lane: invalid_graph.
  /// Source: langgraph/pregel/main.py, a graph called in a node.
  value invoke(const compiled_graph& graph, const run_input& input = {},
               const value& metadata = {});
  graph_run run(const compiled_graph& graph, const run_input& input = {},
                const value& metadata = {}) {
    return {*scope_, detail::prepare_graph(*scope_, graph, input, metadata)};
  }

  /// A message for readers of the `messages` stream: whole, or a part of one (a message value with
  /// "chunk": true). A whole message whose id was streamed before is not streamed again. Nothing is
  /// streamed from a node whose metadata has "nostream" among its "tags".
  void stream_message(const value& message);
  /// The same, and a write to the channel `key` ahead of what the body returns.
  /// Errors: invalid_update when the message has no id; missing_key when there is no such channel.
  /// Source: langgraph/graph/message.py, push_message.
  void push_message(const value& message, const std::string& key = "messages");

  /// A part for readers of the `custom` stream; nothing when nobody reads it.
  /// Blocks: while the reader lags by limits::stream_queue_parts_max parts.
  /// Thread: write, stream_tool_event and stream_message may be called from several threads at
  /// once.
  void write(const value& part);
  /// The same for readers of the `tools` stream. Nothing is streamed from a node whose metadata has
  /// "nostream" among its "tags".
  void stream_tool_event(const value& event);
  /// Whether somebody reads this stream of the run.
  bool is_streaming(stream_mode mode) const noexcept;

  /// The state of the graph at the step's start, all its channels but managed ones, also in a task
  /// that was sent something else.
  /// Shape:  of a sent task empty, unless its node has node_options::graph_state and runs here.
  /// Errors: none.
  /// Source: langgraph/pregel/_read.py, ChannelRead in a body.
  state_view graph_state() const;

  /// Asks the run to stop at the end of this step.
  void request_drain(std::string reason);

  /// Whether the run was given up: a long body should return soon.
  bool stop_requested() const noexcept;

  /// Tells the idle time-out of this attempt that the body goes on.
  void heartbeat() noexcept;

  /// Which attempt this is, from 1, and when the first one began.
  std::uint32_t attempt() const noexcept;
  std::chrono::system_clock::time_point first_attempt_time() const noexcept;
  /// In an error handler: what failed. Null elsewhere.
  const task_failure* failure() const noexcept;

  /// The runtime's store; null without one.
  troupe::store* store() const noexcept;
  /// In an entrypoint: what the run before it saved on this thread; null the first time.
  const value& previous() const noexcept;

  const std::string&
  checkpoint_ns() const noexcept; ///< of this task: `node:id`, from the outside in
  const std::string& checkpoint_id() const noexcept; ///< the one this step starts from
  const std::string& thread_id() const noexcept;     ///< empty without a saver
  const std::string& node() const noexcept;
  const std::string& task_id() const noexcept;
  std::int64_t step() const noexcept;            ///< super-steps of the thread, from -1
  std::int64_t remaining_steps() const noexcept; ///< super-steps left before the recursion limit
  bool is_last_step() const noexcept;
  const value& run_context() const noexcept; ///< run_config::context
  /// The same as a T. Errors: throws error{invalid_value}.
  template <class T> T run_context_as() const { return run_context().template as<T>(); }
  /// run_config::configurable, whole, in graphs and tasks within the run and on workers too.
  /// Shape:  a map, or null when the run was given none.
  /// Errors: none.
  /// Source: langchain_core/runnables/config.py, RunnableConfig["configurable"].
  const value& configurable() const noexcept;
  /// compile_options::metadata, over it run_config::metadata, and the node's.
  const value& metadata() const noexcept;

  /// Suspends a coroutine body without holding a thread: `co_await ctx.sleep_for(10ms);`
  detail::suspension sleep_for(std::chrono::nanoseconds delay) {
    return detail::sleep(*scope_, delay);
  }

  /// Runs `job` on the blocking lane, when it is awaited, and gives its result:
  ///     auto page = ctx.blocking([url] { return download(url); });
  ///     auto text = co_await page;
  /// In two lines, because g++ 12 destroys a capturing lambda that stands inside a co_await
  /// expression twice; the one-line form does not compile.
  /// Errors: what `job` throws.
  template <class F> blocking_job<std::invoke_result_t<F&>> blocking(F job) {
    return blocking_job<std::invoke_result_t<F&>>{run_job(*scope_, std::move(job))};
  }

  /// Something to await that comes from outside: a library's callback, another thread, an event
  /// loop. See troupe/completion.hpp, which the caller includes.
  ///     auto answer = ctx.completion<int>();
  ///     ask_somebody([done = answer.completer()](int n) { done.set(n); });
  ///     auto n = co_await answer;
  /// Thread: several completions of one body may be waited for at once (when_all).
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
