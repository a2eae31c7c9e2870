// handler_pool: a queue of jobs and its threads.
#include "server/edge/handler_pool.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace troupe::server {

handler_pool::handler_pool(std::size_t threads, std::size_t queue_max) : queue_max_{queue_max} {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, threads); ++i)
    threads_.emplace_back([this] { work(); });
}

handler_pool::~handler_pool() {
  std::deque<std::function<void()>> dropped;
  {
    std::scoped_lock lock{mutex_};
    ends_ = true;
    dropped.swap(queue_);
  }
  changed_.notify_all();
  for (auto& one : threads_)
    one.join();
}

bool handler_pool::submit(std::function<void()> job) {
  {
    std::scoped_lock lock{mutex_};
    if (ends_ || queue_.size() >= queue_max_)
      return false;
    queue_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

std::size_t handler_pool::waiting() const {
  std::scoped_lock lock{mutex_};
  return queue_.size();
}

void handler_pool::work() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (std::unique_lock lock{mutex_};;) {
    changed_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    if (ends_)
      return;
    auto job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

} // namespace troupe::server
