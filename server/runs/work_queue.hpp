// work_queue: a few threads that do what callbacks must not do themselves, now or at a time.
#pragma once

#include "actors/timer.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::server {

/// Thread: post() and post_at() on any. Work may block for a while. An exception of it is logged.
class work_queue {
public:
  using clock = std::chrono::system_clock;

  explicit work_queue(std::size_t threads);
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;
  /// Does what was posted by post(), drops what is to come at a later time, and ends the threads.
  ~work_queue();

  void post(std::function<void()> work);
  /// The time is measured from the call, so a clock that is set meanwhile does not move it.
  void post_at(clock::time_point when, std::function<void()> work);

private:
  void serve();

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> now_;
  bool stops_ = false;
  std::vector<std::thread> threads_; // the threads use all above
  timer later_;                      // the last member: its calls post
};

} // namespace troupe::server
