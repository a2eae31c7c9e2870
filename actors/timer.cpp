// The timer's thread.
#include "actors/timer.hpp"

#include <utility>

namespace troupe {

void timer::at(clock::time_point when, std::function<void()> fn) {
  std::lock_guard lock{mutex_};
  if (stopped_)
    return;
  auto it = waiting_.emplace(when, std::move(fn));
  if (!thread_.joinable())
    thread_ = std::thread{[this] { run(); }};
  else if (it == waiting_.begin())
    wake_.notify_one();
}

void timer::run() {
  std::unique_lock lock{mutex_};
  while (!stopped_) {
    if (waiting_.empty()) {
      wake_.wait(lock);
      continue;
    }
    auto first = waiting_.begin();
    if (first->first > clock::now()) {
      wake_.wait_until(lock, first->first);
      continue;
    }
    auto fn = std::move(first->second);
    waiting_.erase(first);
    lock.unlock();
    fn();
    fn = nullptr;
    lock.lock();
  }
}

void timer::stop() {
  std::multimap<clock::time_point, std::function<void()>> dropped;
  std::thread thread;
  {
    std::lock_guard lock{mutex_};
    stopped_ = true;
    dropped.swap(waiting_);
    thread.swap(thread_);
  }
  wake_.notify_all();
  if (thread.joinable())
    thread.join();
}

} // namespace troupe
