// pending_run: the end of a run, for those that wait for it.
#pragma once

#include "actors/lent_thread.hpp"
#include "actors/roster.hpp"
#include "tasks/nested.hpp"

#include <troupe/runtime.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

/// Receives the end of a run, once, from its coordinator.
class run_completion {
public:
  virtual ~run_completion() = default;
  virtual void finish(nested_end how) = 0;
  /// The run is being stopped: it must not wait for its reader any more. Any thread.
  virtual void stopping() {}
};

/// The end of a run whose caller lends its thread and waits on it. Lives on that thread's stack.
class lent_completion : public run_completion {
public:
  explicit lent_completion(lent_thread& unit) noexcept : unit_{&unit} {}
  lent_completion(const lent_completion&) = delete;
  lent_completion& operator=(const lent_completion&) = delete;
  void finish(nested_end how) override;

  /// For messages, which share ownership of other completions.
  std::shared_ptr<run_completion> unowned() { return {std::shared_ptr<void>{}, this}; }
  /// Resumes actors until the run has ended.
  /// Shape: the outcome.
  nested_end wait();

private:
  lent_thread* unit_;
  std::optional<nested_end> outcome_;
  std::atomic<bool> done_{false};
};

/// Set once, by the run's coordinator; read by its owner.
class pending_run : public run_completion {
public:
  pending_run(run_control control, roster& actors)
    : control_{std::move(control)},
      actors_{&actors} {}
  /// A run that never began.
  explicit pending_run(run_control control) : control_{std::move(control)} {}

  /// The function set by on_end() runs before this returns.
  void finish(nested_end how) override;
  void stopping() override {
    if (stopping_)
      stopping_();
  }

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Waits and returns a copy of the outcome, so it may be called again.
  result<run_result> wait();
  /// Calls `then` once when the run has ended, before anything else learns of the end; at once when
  /// it had ended already.
  void when_done(std::function<void(const result<run_result>&)> then);
  /// Moves the outcome out; the run must have ended.
  nested_end take();

  /// Called before the run starts: the unit whose thread waits, and the function for its end.
  void lent_by(lent_thread* unit) { lender_ = unit; }
  void on_end(std::function<void()> then) { then_ = std::move(then); }
  void on_stopping(std::function<void()> then) { stopping_ = std::move(then); }
  void of_group(std::shared_ptr<group_card> group) {
    std::lock_guard lock{mutex_};
    group_ = std::move(group);
  }

  run_control control() const { return control_; }
  run_control& controlled() noexcept { return control_; }
  /// The actors of the run's group; none before of_group().
  std::vector<actor_info> actors() const;

private:
  run_control control_;
  roster* actors_ = nullptr; // not used before of_group()
  std::shared_ptr<group_card> group_;
  lent_thread* lender_ = nullptr;
  std::function<void()> then_;
  std::function<void()> stopping_; // not changed after the run began
  std::vector<std::function<void(const result<run_result>&)>> told_; // called at the end
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<nested_end> outcome_;
  std::atomic<bool> done_{false};
};

} // namespace troupe
