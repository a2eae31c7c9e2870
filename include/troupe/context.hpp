// What a node body can ask of the run it is part of.
#pragma once

#include <troupe/control.hpp>
#include <troupe/coro.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace troupe {

namespace detail {

struct task_scope; // actors/task_scope.hpp

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
  /// Shape:  any value; null can't be an answer. `response_schema`: a JSON Schema for the
  ///         reader, not checked.
  /// Source: langgraph/types.py, interrupt; spec/since-1.2.11.md B11.1.
  value interrupt(const value& question, const value& response_schema = {});

  /// A part for readers of the `custom` stream; nothing when nobody reads it.
  /// Blocks: while the reader lags by limits::stream_queue_parts_max parts.
  void write(const value& part);

  /// Asks the run to stop at the end of this step.
  void request_drain(std::string reason);

  /// Whether the run was given up: a long body should return soon.
  bool stop_requested() const noexcept;

  const std::string& thread_id() const noexcept; ///< empty without a saver
  const std::string& node() const noexcept;
  const std::string& task_id() const noexcept;
  std::int64_t step() const noexcept;            ///< super-steps of the thread, from -1
  std::int64_t remaining_steps() const noexcept; ///< super-steps left before the recursion limit
  bool is_last_step() const noexcept;
  const value& run_context() const noexcept; ///< run_config::context
  const value& metadata() const noexcept;    ///< run_config::metadata with the node's over it

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
