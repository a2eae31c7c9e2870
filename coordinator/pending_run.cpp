// pending_run: the end of a run.
#include "coordinator/pending_run.hpp"

#include <utility>

namespace troupe {

void lent_completion::finish(nested_end how) {
  auto* unit = unit_; // once the run is done, this object may be gone
  outcome_ = std::move(how);
  done_.store(true, std::memory_order_release);
  unit->poke();
}

nested_end lent_completion::wait() {
  unit_->run_until([this] { return done_.load(std::memory_order_acquire); });
  return std::move(*outcome_);
}

void pending_run::finish(nested_end how) {
  auto then = std::move(then_);
  auto* lender = lender_;
  {
    std::unique_lock lock{mutex_};
    while (!told_.empty()) { // before `then`, after which the runtime may be gone
      auto told = std::exchange(told_, {});
      lock.unlock();
      for (const auto& tell : told)
        tell(how.how);
      lock.lock();
    }
    outcome_ = std::move(how);
    if (then)
      then();
    done_.store(true, std::memory_order_release);
  }
  ended_.notify_all(); // after the unlock: the woken thread needs the lock
  if (lender)
    lender->poke();
}

void pending_run::when_done(std::function<void(const result<run_result>&)> then) {
  {
    std::lock_guard lock{mutex_};
    if (!done()) {
      told_.push_back(std::move(then));
      return;
    }
  }
  then(outcome_->how); // the outcome does not change any more
}

result<run_result> pending_run::wait() {
  std::unique_lock lock{mutex_};
  ended_.wait(lock, [this] { return done(); });
  return outcome_->how;
}

nested_end pending_run::take() {
  std::lock_guard lock{mutex_};
  return std::move(*outcome_);
}

std::vector<actor_info> pending_run::actors() const {
  std::shared_ptr<group_card> group;
  {
    std::lock_guard lock{mutex_};
    group = group_;
  }
  return group ? actors_->list(group.get()) : std::vector<actor_info>{};
}

} // namespace troupe
