// timer: calls at a later time, from one thread of its own, which starts with the first call. Knows
// no actors.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace troupe {

class timer {
public:
  using clock = std::chrono::steady_clock;

  timer() = default;
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() { stop(); }

  /// Calls `fn` on the timer's thread at `when` or soon after; `fn` must be short and must not
  /// throw. Calls of equal time keep their order. Dropped when the timer is stopped.
  void at(clock::time_point when, std::function<void()> fn);
  void after(clock::duration delay, std::function<void()> fn) {
    at(clock::now() + delay, std::move(fn));
  }

  /// Drops the waiting calls and joins the thread.
  void stop();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<clock::time_point, std::function<void()>> waiting_;
  std::thread thread_;
  bool stopped_ = false;
};

} // namespace troupe
