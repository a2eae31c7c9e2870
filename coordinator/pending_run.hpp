// The end of a run, for whoever waits for it.
#pragma once

#include "actors/lent_thread.hpp"
#include "tasks/nested.hpp"
#include "actors/roster.hpp"

#include <troupe/runtime.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

/// Who hears of the end of a run, once, from its coordinator.
class run_completion {
public:
  virtual ~run_completion() = default;
  virtual void finish(nested_end how) = 0;
};

/// Set once, by the run's coordinator; read by its owner.
class pending_run : public run_completion {
public:
  pending_run(run_control control, roster& actors)
    : control_{std::move(control)},
      actors_{&actors} {}
  /// One that never began.
  explicit pending_run(run_control control) : control_{std::move(control)} {}

  /// `then` of on_end() runs before this returns.
  void finish(nested_end how) override;

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Waits and gives the outcome; a copy, so that it may be asked again.
  result<run_result> wait();
  /// Calls `then` once, when the run has ended, before anybody else knows; at once when it had.
  void when_done(std::function<void(const result<run_result>&)> then);
  /// The outcome, which must be there.
  nested_end take();

  /// Before the run starts: the unit whose thread waits, and what to do at the end.
  void lent_by(lent_thread* unit) { lender_ = unit; }
  void on_end(std::function<void()> then) { then_ = std::move(then); }
  void of_group(std::shared_ptr<group_card> group) {
    std::lock_guard lock{mutex_};
    group_ = std::move(group);
  }

  run_control control() const { return control_; }
  run_control& controlled() noexcept { return control_; }
  /// None before it is of a group.
  std::vector<actor_info> actors() const;

private:
  run_control control_;
  roster* actors_ = nullptr; // not asked before it is of a group
  std::shared_ptr<group_card> group_;
  lent_thread* lender_ = nullptr;
  std::function<void()> then_;
  std::vector<std::function<void(const result<run_result>&)>> told_; // at the end
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<nested_end> outcome_;
  std::atomic<bool> done_{false};
};

} // namespace troupe
