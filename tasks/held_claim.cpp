// The end of a turn, and the checkpoints that a run started from.
#include "tasks/held_claim.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

bool held_claim::save_begins() noexcept {
  auto open = open_.load();
  while (open != 0)
    if (open_.compare_exchange_weak(open, open + 1))
      return true;
  return false;
}

void held_claim::run_ended() {
  if (ended_.exchange(true))
    return;
  {
    std::function<void()> stop; // destroyed outside of the lock
    std::lock_guard lock{mutex_};
    stop.swap(stop_);
  }
  leave();
}

void held_claim::leave() {
  if (open_.fetch_sub(1) == 1 && state_.exchange(state::over) == state::awaited)
    std::exchange(then_, nullptr)();
}

bool held_claim::when_over(std::function<void()> then) {
  then_ = std::move(then);
  auto before = state::on;
  return state_.compare_exchange_strong(before, state::awaited);
}

void held_claim::begun(std::function<void()> stop) {
  std::lock_guard lock{mutex_};
  if (cancelled_)
    stop();
  else if (!ended_)
    stop_ = std::move(stop);
}

void held_claim::cancel() {
  std::lock_guard lock{mutex_};
  cancelled_ = true;
  if (stop_)
    stop_();
}

void held_claim::goes_on_from(checkpoint_ref ref, std::vector<pending_write> writes) {
  if (ref.checkpoint_id > after_id) // the run made it itself
    return;
  std::lock_guard lock{mutex_};
  auto known = std::any_of(heads_.begin(), heads_.end(),
                           [&ref](const auto& head) { return head.ref == ref; });
  if (!known)
    heads_.push_back({std::move(ref), std::move(writes)});
}

rewind_point held_claim::before_run() {
  std::lock_guard lock{mutex_};
  return {after_id, heads_, rests ? at_rest(true) : first};
}

} // namespace troupe
