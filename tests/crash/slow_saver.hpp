// A saver that takes its time and keeps nothing.
#pragma once

#include <troupe/saver.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace crash {

class slow_saver final : public troupe::saver {
public:
  slow_saver() : writer_{[this](const std::stop_token& stop) { work(stop); }} {}

  troupe::result<std::optional<troupe::checkpoint_tuple>>
  get_tuple(const troupe::checkpoint_ref&) override {
    return std::optional<troupe::checkpoint_tuple>{};
  }
  troupe::result<std::vector<troupe::checkpoint_tuple>> list(const troupe::list_query&) override {
    return std::vector<troupe::checkpoint_tuple>{};
  }
  troupe::result<void> put(const troupe::checkpoint_ref&, const troupe::checkpoint_put&) override {
    return {};
  }
  troupe::result<void> put_writes(const troupe::checkpoint_ref&,
                                  const troupe::task_writes&) override {
    return {};
  }
  troupe::result<void> delete_thread(const std::string&) override { return {}; }
  troupe::result<std::vector<troupe::thread_info>> threads() override {
    return std::vector<troupe::thread_info>{};
  }

  void submit(troupe::save_request request, troupe::save_ack,
              std::function<void(troupe::result<void>)> done) override {
    std::scoped_lock lock{mutex_};
    checkpoints_ += request.put.has_value();
    checkpoints_max_ = std::max(checkpoints_max_, checkpoints_);
    waiting_.emplace_back(std::move(request), std::move(done));
    filled_.notify_one();
  }

  /// Checkpoints that waited at once, at most.
  std::size_t checkpoints_max() const {
    std::scoped_lock lock{mutex_};
    return checkpoints_max_;
  }
  std::size_t stored() const {
    std::scoped_lock lock{mutex_};
    return stored_;
  }

private:
  // Each request takes a hundred times as long as a step.
  void work(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (filled_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      filled_.wait_for(lock, stop, std::chrono::microseconds{200}, [] { return false; });
      auto [request, done] = std::move(waiting_.front());
      waiting_.pop_front();
      checkpoints_ -= request.put.has_value();
      ++stored_;
      lock.unlock();
      done({});
      lock.lock();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<std::pair<troupe::save_request, std::function<void(troupe::result<void>)>>> waiting_;
  std::size_t checkpoints_ = 0; // of those in waiting_
  std::size_t checkpoints_max_ = 0;
  std::size_t stored_ = 0;
  std::jthread writer_; // the last member: it uses the others
};

} // namespace crash
