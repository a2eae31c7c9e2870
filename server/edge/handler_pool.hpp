// handler_pool: the threads that run handlers of requests.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::server {

class handler_pool {
public:
  handler_pool(std::size_t threads, std::size_t queue_max);
  handler_pool(const handler_pool&) = delete;
  handler_pool& operator=(const handler_pool&) = delete;
  /// Drops jobs that no thread has begun. Blocks: until the others have ended.
  ~handler_pool();

  /// Runs the job on a thread, in the order of the calls. False when the queue is full, and the job
  /// is dropped. A job must not throw.
  bool submit(std::function<void()> job);
  /// Jobs that no thread has begun. Thread: any.
  std::size_t waiting() const;

private:
  void work();

  const std::size_t queue_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_; // under the mutex, as the next
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

} // namespace troupe::server
