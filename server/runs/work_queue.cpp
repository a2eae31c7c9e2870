// work_queue: the threads.
#include "server/runs/work_queue.hpp"

#include "actors/log.hpp"

#include <exception>
#include <string>
#include <utility>

namespace troupe::server {

work_queue::work_queue(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { serve(); });
}

work_queue::~work_queue() {
  later_.stop();
  {
    std::lock_guard lock{mutex_};
    stops_ = true;
  }
  filled_.notify_all();
  for (auto& one : threads_)
    one.join();
}

void work_queue::post(std::function<void()> work) {
  {
    std::lock_guard lock{mutex_};
    now_.push_back(std::move(work));
  }
  filled_.notify_one();
}

void work_queue::post_at(clock::time_point when, std::function<void()> work) {
  later_.after(when - clock::now(),
               [this, work = std::move(work)]() mutable { post(std::move(work)); });
}

void work_queue::serve() {
  std::unique_lock lock{mutex_};
  for (;;) {
    if (!now_.empty()) {
      auto work = std::move(now_.front());
      now_.pop_front();
      lock.unlock();
      try {
        work();
      } catch (const std::exception& e) {
        log_warning(std::string{"work of the server: "} + e.what());
      }
      work = nullptr; // what it holds goes without the lock
      lock.lock();
    } else if (stops_) {
      return;
    } else {
      filled_.wait(lock);
    }
  }
}

} // namespace troupe::server
