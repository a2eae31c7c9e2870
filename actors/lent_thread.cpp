// Running actors on a thread that a caller lends.
#include "actors/lent_thread.hpp"

#include "actors/strand.hpp"
#include "graph/short_pause.hpp"
#include "persistence/writer_saver.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <chrono>
#include <utility>

namespace troupe {

namespace {

// The unit whose run_until is active on this thread; the innermost one when runs nest.
thread_local lent_thread* current_unit = nullptr;
constexpr std::chrono::microseconds spin_time{30}; // before the thread sleeps, since a wake-up
                                                   // costs more
constexpr int looks_per_yield = 16;                // since a yield takes longer than many looks

} // namespace

void lent_thread::exec_later(caf::resumable* job) {
  if (current_unit == this) {
    queue_.push_back(job);
    return;
  }
  auto& scheduler = system_->scheduler(); // after the unlock, the unit may be gone
  std::unique_lock lock{mutex_};
  if (!lent_) {
    lock.unlock();
    return scheduler.enqueue(job);
  }
  foreign_.push_back(job);
  pushed_.store(true, std::memory_order_release);
  wake(std::move(lock));
}

// The sleeper needs the lock, so it is woken after the unlock.
void lent_thread::wake(std::unique_lock<std::mutex> lock) {
  auto sleeper = asleep_ ? wake_ : nullptr;
  lock.unlock();
  if (sleeper)
    sleeper->notify_one();
}

bool lent_thread::is_this_thread() const noexcept {
  return current_unit == this;
}

lent_thread* lent_thread::of_this_thread() noexcept {
  return current_unit;
}

void lent_thread::left_by(writer_saver& to, bool awaited) {
  if (left_by_ != &to)
    pass_on_left();
  left_by_ = &to;
  left_is_awaited_ = left_is_awaited_ || awaited;
}

void lent_thread::pass_on_left() {
  left_is_awaited_ = false;
  if (auto* to = std::exchange(left_by_, nullptr))
    to->call_writer();
}

// Whether something was written, so that its answer is in the queue.
bool lent_thread::write_left() {
  if (!std::exchange(left_is_awaited_, false)) {
    pass_on_left();
    return false;
  }
  return std::exchange(left_by_, nullptr)->write_left();
}

void lent_thread::lend(bool watched) {
  std::lock_guard lock{mutex_};
  messages_ = watched ? watched_messages_per_turn : messages_per_turn;
  logger_.emplace();
  lent_ = true;
  pushed_.store(false, std::memory_order_relaxed);
}

void lent_thread::give_back() {
  {
    std::lock_guard lock{mutex_};
    lent_ = false;
  }
  take_foreign();
  {
    at_work here{*this};
    while (!queue_.empty()) {
      auto* job = queue_.front();
      queue_.pop_front();
      resume(job);
      pass_on_left();
    }
  }
  logger_.reset();
}

lent_thread::at_work::at_work(lent_thread& unit) noexcept
  : outer_{std::exchange(current_unit, &unit)} {}

lent_thread::at_work::~at_work() {
  current_unit = outer_;
}

void lent_thread::poke() {
  if (is_this_thread())
    return;
  std::unique_lock lock{mutex_};
  pushed_.store(true, std::memory_order_release);
  wake(std::move(lock));
}

bool lent_thread::take_foreign() {
  if (!pushed_.load(std::memory_order_acquire))
    return false;
  std::lock_guard lock{mutex_};
  pushed_.store(false, std::memory_order_relaxed);
  queue_.insert(queue_.end(), foreign_.begin(), foreign_.end());
  foreign_.clear();
  return true;
}

void lent_thread::resume(caf::resumable* job) {
  switch (job->resume(this, messages_)) {
    case caf::resumable::resume_later: queue_.push_back(job); break;
    default: // awaiting_message, done: the queue's reference is released
      caf::intrusive_ptr_release(job);
  }
}

void lent_thread::step(const std::function<bool()>& done) {
  take_foreign();
  {
    at_work here{*this};
    while (!queue_.empty() && !done()) {
      auto* job = queue_.front();
      queue_.pop_front();
      resume(job);
      take_foreign();
      if (!queue_.empty())
        pass_on_left();
    }
    if (done())
      return pass_on_left();
    if (write_left())
      return;
  }
  for (auto until = std::chrono::steady_clock::now() + spin_time;
       std::chrono::steady_clock::now() < until;) {
    for (int looks = 0; looks < looks_per_yield; ++looks) {
      if (pushed_.load(std::memory_order_acquire))
        return;
      short_pause();
    }
    std::this_thread::yield(); // the thread that will push may wait for this processor
  }
  std::unique_lock lock{mutex_};
  asleep_ = true;
  wake_->wait(lock, [this] { return pushed_.load(std::memory_order_acquire); });
  asleep_ = false;
}

} // namespace troupe
