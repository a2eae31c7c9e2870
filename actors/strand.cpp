// strand: running the actors of one run on the scheduler, one after another.
#include "actors/strand.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <utility>

namespace troupe {

namespace {

constexpr int jobs_per_turn = 64; // then other actors of the scheduler get the thread

} // namespace

void strand::intrusive_ptr_add_ref_impl() {
  owners_.fetch_add(1, std::memory_order_relaxed);
}

void strand::intrusive_ptr_release_impl() {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete this;
}

void strand::exec_later(caf::resumable* job) {
  {
    std::lock_guard lock{mutex_};
    queue_.push_back(job);
    if (held_ || std::exchange(scheduled_, true))
      return;
    intrusive_ptr_add_ref_impl(); // the reference of the scheduler's queue
  }
  system_->scheduler().enqueue(this);
}

bool strand::take_turn() {
  std::lock_guard lock{mutex_};
  return !held_ && !std::exchange(scheduled_, true);
}

void strand::hold() {
  std::lock_guard lock{mutex_};
  held_ = true;
}

void strand::let_go() {
  {
    std::lock_guard lock{mutex_};
    held_ = false;
    if (queue_.empty() || std::exchange(scheduled_, true))
      return;
    intrusive_ptr_add_ref_impl();
  }
  system_->scheduler().enqueue(this);
}

caf::resumable::resume_result strand::resume(caf::execution_unit*, std::size_t) {
  for (int i = 0; i < jobs_per_turn; ++i) {
    caf::resumable* job = nullptr;
    {
      std::lock_guard lock{mutex_};
      if (queue_.empty() || held_) {
        scheduled_ = false;
        return awaiting_message;
      }
      job = queue_.front();
      queue_.pop_front();
    }
    if (job->resume(this, messages_) == resume_later)
      exec_later(job);
    else
      caf::intrusive_ptr_release(job);
  }
  return resume_later;
}

} // namespace troupe
