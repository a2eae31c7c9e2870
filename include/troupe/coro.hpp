// The coroutine: the lazily started coroutine type that a node body, or a part of one, can return.
#pragma once

#include <troupe/error.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace troupe {

template <class T> class coro;

namespace detail {

struct coro_promise_base {
  std::coroutine_handle<> continuation = nullptr; // the awaiting coroutine; null for the outermost
  std::exception_ptr failure;

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) const noexcept {
      auto next = done.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

template <class T> struct coro_promise : coro_promise_base {
  std::optional<T> value;
  coro<T> get_return_object() noexcept;
  template <class X>
  requires std::is_convertible_v<X, T>
  void return_value(X&& x) { value.emplace(std::forward<X>(x)); }
  void return_value(T x) { value.emplace(std::move(x)); }
  T take() {
    if (failure)
      std::rethrow_exception(failure);
    return std::move(*value);
  }
};

template <> struct coro_promise<void> : coro_promise_base {
  coro<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const {
    if (failure)
      std::rethrow_exception(failure);
  }
};

} // namespace detail

/// A lazily started coroutine that gives a T, awaited by another coroutine with `co_await`. A node
/// body that returns one runs on the coroutine lane, where a suspended body holds no thread.
/// Owns:   its frame; destroying it early destroys the frame and the coroutines it awaits.
/// Thread: resumed on any thread, one at a time.
/// Errors: `co_await` throws the exception of the body.
/// Source: troupe.
template <class T> class [[nodiscard]] coro {
public:
  using promise_type = detail::coro_promise<T>;
  using handle = std::coroutine_handle<promise_type>;

  explicit coro(handle h) noexcept : handle_{h} {}
  coro(coro&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  coro& operator=(coro&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~coro() { reset(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

  /// For the driver of the outermost coroutine: runs it to its first suspension.
  void start() { handle_.resume(); }
  bool done() const noexcept { return handle_.done(); }
  /// The result of a coroutine that is done.
  T take() { return handle_.promise().take(); }

private:
  void reset() noexcept {
    if (handle_)
      handle_.destroy();
  }
  handle handle_;
};

template <class T> coro<T> detail::coro_promise<T>::get_return_object() noexcept {
  return coro<T>{std::coroutine_handle<coro_promise>::from_promise(*this)};
}
inline coro<void> detail::coro_promise<void>::get_return_object() noexcept {
  return coro<void>{std::coroutine_handle<coro_promise>::from_promise(*this)};
}

} // namespace troupe
