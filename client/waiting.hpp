// waiting: pauses of a coroutine that runs in a body, or on a thread that may wait.
#pragma once

#include <troupe/context.hpp>
#include <troupe/coro.hpp>

#include <chrono>
#include <coroutine>

namespace troupe {

/// A pause. Without a context, the thread waits.
coro<void> pause_in(context* ctx, std::chrono::milliseconds time);

/// Awaits a coroutine within another one. Without a context, neither suspends: the inner one is
/// called, and returns. A transfer to it and back would take more of the stack each time, where the
/// compiler makes no tail calls of them.
template <class T> class step_in {
public:
  step_in(context* ctx, coro<T>& call) noexcept : ctx_{ctx}, call_{&call} {}
  bool await_ready() {
    if (!ctx_)
      call_->start();
    return !ctx_;
  }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> outer) noexcept {
    return call_->await_suspend(outer);
  }
  T await_resume() { return call_->take(); }

private:
  context* ctx_;
  coro<T>* call_;
};

/// The result of a coroutine that never suspends, since it has no context.
template <class T> T waited(coro<T> call) {
  call.start();
  return call.take();
}

/// From 0 to 1.
double drawn_chance_of_wait();

} // namespace troupe
