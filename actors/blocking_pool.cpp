// The blocking lane's threads.
#include "actors/blocking_pool.hpp"

#include <troupe/limits.hpp>

#include <utility>

namespace troupe {

bool blocking_pool::submit(std::function<void()> job) {
  {
    std::lock_guard lock{mutex_};
    if (stopped_ || jobs_.size() >= limits::blocking_queue_max)
      return false;
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < threads_max_ + waiting_) {
      threads_.emplace_back([this] { work(); });
      return true;
    }
  }
  wake_.notify_one(); // after the unlock: the woken thread needs the lock
  return true;
}

bool blocking_pool::submit_after_this(std::function<void()> job) {
  std::lock_guard lock{mutex_};
  if (stopped_ || jobs_.size() >= limits::blocking_queue_max)
    return false;
  jobs_.push_back(std::move(job));
  return true;
}

bool blocking_pool::begin_wait() {
  std::lock_guard lock{mutex_};
  if (waiting_ >= limits::waiting_threads_max)
    return false;
  ++waiting_;
  if (!stopped_ && jobs_.size() > idle_ && threads_.size() < threads_max_ + waiting_)
    threads_.emplace_back([this] { work(); });
  return true;
}

void blocking_pool::end_wait() {
  std::lock_guard lock{mutex_};
  --waiting_;
}

void blocking_pool::work() {
  std::unique_lock lock{mutex_};
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    --idle_;
    if (stopped_)
      return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr; // the job's captures are destroyed outside the lock
    lock.lock();
  }
}

void blocking_pool::stop() {
  std::deque<std::function<void()>> dropped;
  std::vector<std::thread> threads;
  {
    std::lock_guard lock{mutex_};
    stopped_ = true;
    dropped.swap(jobs_);
    threads.swap(threads_);
  }
  wake_.notify_all();
  dropped.clear(); // a running job may wait for what these jobs hold
  for (auto& t : threads)
    t.join();
}

} // namespace troupe
