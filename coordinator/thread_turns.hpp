// thread_turns: which run's turn it is on each thread, and which runs wait for it. Knows claims, no
// actors.
//
// Invariants:
//  - Runs wait on a thread only while a turn on it is on or is being handed on.
//  - Runs that interrupt stand before those that queue; among each other they keep their order.
//  - Each waiting run gets exactly one answer.
#pragma once

#include "tasks/held_claim.hpp"

#include <troupe/runtime.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

using claim_ptr = std::shared_ptr<held_claim>;

/// The error of a run that does not begin because the runtime stops.
error runtime_is_stopping();

/// Any thread. Owned by a shared_ptr, because a turn may end after it.
class thread_turns : public std::enable_shared_from_this<thread_turns> {
public:
  /// Receives success when the turn has come, or an error when it never will. Called with no lock
  /// held; short, must not throw.
  using told = std::function<void(result<void>)>;

  /// Begins a turn at once, when it need not wait. A run that is taken over is revoked, unless it
  /// has ended and only its saves are open. False: call wait().
  /// Errors: conflict for `reject`; runtime_stopped.
  result<bool> begin(const std::string& thread_id, const claim_ptr& claim, multitask_strategy how);

  /// Calls `then` when the turn has come, perhaps before wait() returns. An interrupt or rollback
  /// cancels the run in its way; for a rollback, the claim's `undo_first` is the run to undo.
  /// Errors: (to `then`) overloaded for more than limits::queued_runs_max, runtime_stopped, the
  ///         `why` of leave().
  void wait(const std::string& thread_id, claim_ptr claim, multitask_strategy how, told then);

  /// Ends a wait, if it still waits: its `then` gets `why`.
  void leave(const std::string& thread_id, const held_claim* claim, error why);

  /// busy(): whether a run is on or waits. waiting(): how many wait.
  bool busy(const std::string& thread_id);
  std::size_t waiting(const std::string& thread_id);

  /// Answers all waiting and all later runs with runtime_stopped.
  void close();

private:
  struct waiter {
    claim_ptr claim;
    multitask_strategy how;
    told then;
  };
  struct line {
    std::weak_ptr<held_claim> on;
    bool watched = false;        // turn_over() is called when `on` is over
    std::vector<waiter> waiting; // few, and mostly none: that takes no memory
  };
  /// The calls to make, and the claims to destroy, after the lock is released.
  struct afterwards;

  line& line_of(const std::string& thread_id);
  bool watch(const std::string& thread_id, line& at, const claim_ptr& on);
  void hand_on(const std::string& thread_id, line& at, afterwards& then);
  void press(line& at, const claim_ptr& on, afterwards& then);
  void turn_over(const std::string& thread_id);

  std::mutex mutex_;
  bool closed_ = false;
  std::unordered_map<std::string, line> lines_;
  std::size_t lines_kept_ = 0; // size when the lines of ended runs were last dropped
};

} // namespace troupe
