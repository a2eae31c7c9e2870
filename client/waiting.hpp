// waiting: pauses of a coroutine that runs in a body, or on a thread that may wait.
#pragma once

#include <troupe/context.hpp>
#include <troupe/coro.hpp>

#include <chrono>

namespace troupe {

/// A pause. Without a context, the thread waits.
coro<void> pause_in(context* ctx, std::chrono::milliseconds time);

/// The result of a coroutine that never suspends, since it has no context.
template <class T> T waited(coro<T> call) {
  call.start();
  return call.take();
}

/// From 0 to 1.
double drawn_chance_of_wait();

} // namespace troupe
