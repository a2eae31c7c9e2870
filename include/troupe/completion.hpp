// The completion: a coroutine body awaits an event from outside: a library's callback, an event
// loop, another thread.
//
//     auto page = ctx.completion<std::string>();
//     start_download(url, [done = page.completer()](std::string text) { done.set(text); });
//     auto text = co_await page;
#pragma once

#include <troupe/context.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

namespace troupe {

namespace detail {

/// A function that resumes the body suspended at `at`, in its own lane; it has no effect once the
/// body is gone.
/// Errors: throws invalid_graph when no coroutine runs here.
std::function<void()> resume_of(task_scope& scope, std::coroutine_handle<> at);
/// Calls `stop` once, on any thread, when the attempt is given up; at once when it was already.
void when_given_up(task_scope& scope, const void* who, std::function<void()> stop);
void forget(task_scope& scope, const void* who);
void show_life(task_scope& scope) noexcept;
error nobody_completes();

/// The state shared by the awaiting body and its completers. Calls no callback while it is locked.
template <class T> class completion_state {
public:
  using answer_type = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  bool settle(std::optional<answer_type> answer, std::exception_ptr failure) {
    std::function<void()> wake;
    std::function<void()> stop;
    {
      std::lock_guard lock{mutex_};
      if (over_)
        return false;
      over_ = true;
      answer_ = std::move(answer);
      failure_ = std::move(failure);
      wake.swap(wake_);
      stop.swap(stop_);
    }
    if (wake)
      wake();
    return true;
  }

  /// The body no longer waits.
  void leave() {
    std::function<void()> wake;
    std::function<void()> stop;
    {
      std::lock_guard lock{mutex_};
      left_ = left_ || !over_;
      over_ = true;
      wake.swap(wake_);
      stop.swap(stop_);
    }
    if (stop)
      stop();
  }

  void when_left(std::function<void()> stop) {
    {
      std::lock_guard lock{mutex_};
      if (!over_)
        stop_.swap(stop);
      if (!left_)
        return;
    }
    if (stop)
      stop();
  }

  bool is_over() const {
    std::lock_guard lock{mutex_};
    return over_;
  }

  /// Whether the body stays suspended: until `wake` is called, or for good after leave().
  bool wait(std::function<void()> wake) {
    std::lock_guard lock{mutex_};
    if (!over_)
      wake_.swap(wake);
    return !over_ || left_; // a body that was left stays suspended
  }

  T take() {
    if (failure_)
      std::rethrow_exception(failure_);
    if constexpr (!std::is_void_v<T>)
      return std::move(*answer_);
  }

private:
  mutable std::mutex mutex_;
  bool over_ = false;
  bool left_ = false;
  std::optional<answer_type> answer_;
  std::exception_ptr failure_;
  std::function<void()> wake_;
  std::function<void()> stop_;
};

} // namespace detail

/// The answering end of a completion. Cheap to copy.
/// Thread: any, also before the body waits and after the body is gone.
/// Errors: none; later answers than the first have no effect.
/// Source: troupe.
template <class T> class completer {
public:
  explicit completer(std::shared_ptr<detail::completion_state<T>> state)
    : held_{std::make_shared<last_one>(std::move(state))} {}

  /// Answers. The first answer counts: the body resumes with it in its own lane, never on this
  /// thread. False when there was an answer before, or the body no longer waits.
  template <class U = T>
  requires(!std::is_void_v<U>) bool set(U answer) const {
    return held_->state->settle(std::move(answer), nullptr);
  }
  bool set() const requires(std::is_void_v<T>) {
    return held_->state->settle(std::monostate{}, nullptr);
  }
  /// Resumes the body with this exception, thrown at its co_await.
  bool fail(std::exception_ptr failure) const {
    return held_->state->settle(std::nullopt, std::move(failure));
  }
  bool fail(const error& failure) const { return fail(std::make_exception_ptr(failure)); }

  /// Calls `stop` when the body is given up (cancelled, timed out, destroyed) before an answer; at
  /// once when it was already. `stop` runs on any thread and must be short. The last `stop` counts.
  void when_left(std::function<void()> stop) const { held_->state->when_left(std::move(stop)); }

private:
  struct last_one {
    std::shared_ptr<detail::completion_state<T>> state;
    explicit last_one(std::shared_ptr<detail::completion_state<T>> s) : state{std::move(s)} {}
    last_one(const last_one&) = delete;
    last_one& operator=(const last_one&) = delete;
    ~last_one() {
      if (!state->is_over())
        state->settle(std::nullopt, std::make_exception_ptr(detail::nobody_completes()));
    }
  };
  std::shared_ptr<last_one> held_;
};

/// The awaiting end of a completion; context::completion() makes it. The body that made it awaits
/// it at most once, under a name. The body may be given up meanwhile.
/// Errors: co_await throws the argument of fail(); cancelled when all completers are gone without
///         an answer; invalid_graph in a body that is not a coroutine.
/// Source: troupe; asyncio's Future.
template <class T> class completion {
public:
  explicit completion(detail::task_scope& scope)
    : scope_{&scope},
      state_{std::make_shared<detail::completion_state<T>>()},
      first_{state_} {
    detail::when_given_up(scope, state_.get(), [weak = std::weak_ptr{state_}] {
      if (auto state = weak.lock())
        state->leave();
    });
  }
  completion(completion&&) noexcept = default;
  completion& operator=(completion&&) = delete;
  ~completion() {
    if (!state_)
      return;
    detail::forget(*scope_, state_.get());
    state_->leave();
  }

  /// An answering end; call it before the completion is awaited.
  troupe::completer<T> completer() const { return *first_; }

  class awaiter {
  public:
    explicit awaiter(completion& what) noexcept : what_{&what} {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> body) {
      auto wake = detail::resume_of(*what_->scope_, body);
      what_->first_.reset(); // only the caller's completers remain
      return what_->state_->wait(std::move(wake));
    }
    T await_resume() {
      detail::show_life(*what_->scope_);
      return what_->state_->take();
    }

  private:
    completion* what_;
  };
  awaiter operator co_await() & noexcept { return awaiter{*this}; }
  void operator co_await() && = delete; // name it first: `auto done = ctx.completion<T>();`

private:
  detail::task_scope* scope_;
  std::shared_ptr<detail::completion_state<T>> state_;
  std::optional<troupe::completer<T>> first_;
};

template <class T> completion<T> context::completion() const {
  return troupe::completion<T>{*scope_};
}

} // namespace troupe
