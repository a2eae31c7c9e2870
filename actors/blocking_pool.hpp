// The blocking lane: a bounded pool of threads for jobs that wait. Knows no actors.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

/// Threads are started while jobs wait and no thread is idle, up to the bound, and then kept.
/// Threads that wait for other jobs do not count.
class blocking_pool {
public:
  explicit blocking_pool(std::size_t threads_max) : threads_max_{threads_max} {}
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  ~blocking_pool() { stop(); }

  /// Runs `job` on some thread of the pool; it must not throw. False when the pool was stopped or
  /// limits::blocking_queue_max jobs wait: the job is dropped.
  bool submit(std::function<void()> job);
  /// The same from a job at its end: its own thread is free at once, so no other thread is woken.
  bool submit_after_this(std::function<void()> job);

  /// Around a wait of a job for something that other jobs may have to do: the pool may have one
  /// more thread meanwhile. False when limits::waiting_threads_max jobs wait already.
  bool begin_wait();
  void end_wait();

  /// Drops the jobs that wait, lets the running ones end, and joins. Blocks until then.
  void stop();

private:
  void work();

  const std::size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  std::size_t waiting_ = 0; // jobs between begin_wait and end_wait
  bool stopped_ = false;
};

} // namespace troupe
