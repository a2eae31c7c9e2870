// run_group: the actors that carry out one run at a time, and the run that is on.
//
// Invariants:
//  - the holder of a group alone begins runs with it; any thread may stop the run that is on.
//  - an order to stop carries the number of its run, so it never meets a later run of the group.
#pragma once

#include "actors/roster.hpp"
#include "coordinator/pending_run.hpp"
#include "tasks/run_shared.hpp"

#include <caf/actor.hpp>

#include <condition_variable>
#include <cstdint>
#include <memory>

namespace troupe {

struct run_request; // engine/run_loop.hpp

class run_group {
public:
  run_group(caf::actor coordinator, card_ptr card, lent_thread* unit) noexcept;

  const caf::actor& coordinator() const noexcept { return coordinator_; }
  actor_card& card() const noexcept { return *card_; }
  const std::shared_ptr<group_card>& shared_card() const noexcept { return card_->group; }
  /// Whether the coordinator has died.
  bool gone() const noexcept { return card_->group->gone; }

  /// A run enters. Its end goes to `end`, which lives until leave().
  /// Shape: the number of the run, for begin_run and stop().
  std::uint64_t enter(run_completion& end, const std::string& thread_id);
  /// Afterwards, nothing of the run's owner is used any more.
  void leave();

  /// Ends this run now, if it is still on; without a number, whatever run is on. Any thread.
  void stop(std::uint64_t run, error why);
  void stop(error why);
  /// The function that stops a run because it is cancelled.
  static std::function<void()> canceller(std::shared_ptr<run_group> group, std::uint64_t run);
  /// Blocks until no run is on.
  void wait_until_left();

  lent_thread* unit; // resumes the actors of runs whose caller lends a thread; may be null

private:
  void stop_this(error why);
  std::mutex& mutex() const noexcept { return card_->group->mutex; }

  caf::actor coordinator_;
  card_ptr card_;
  // guarded by mutex()
  run_completion* on_ = nullptr;
  std::uint64_t runs_ = 0;
  bool awaited_ = false; // a thread waits for `left_`
  std::condition_variable left_;
};

/// Sends the group the message to begin, for a run that has entered.
void tell_to_begin(const run_group& group, std::uint64_t number,
                   std::shared_ptr<run_request> request,
                   std::shared_ptr<run_completion> completion);

using group_ptr = std::shared_ptr<run_group>;

/// Stops the run when its control cancels, for as long as this object lives.
class cancel_hook {
public:
  cancel_hook(run_control control, group_ptr group, std::uint64_t run);
  cancel_hook(const cancel_hook&) = delete;
  cancel_hook& operator=(const cancel_hook&) = delete;
  ~cancel_hook() { control_hooks::remove(control_, this); }

private:
  run_control control_;
};

} // namespace troupe
