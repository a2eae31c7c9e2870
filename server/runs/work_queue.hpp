// work_queue: a few threads that do what callbacks must not do themselves, now or at a time.
// Another thread keeps the time, so that no more than one wakes up when work is due.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
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
  void post_at(clock::time_point when, std::function<void()> work);

private:
  void serve();
  void keep_time();

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> now_;
  std::multimap<clock::time_point, std::function<void()>> later_;
  std::condition_variable earlier_; // the first of later_ is another one, or the end
  bool stops_ = false;
  std::vector<std::thread> threads_; // the last member: the threads use all others
};

} // namespace troupe::server
