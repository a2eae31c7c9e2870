// Whose turn it is on each thread, and who waits for it. Knows claims, no actors.
//
// Invariants:
//  - A thread's queue is not empty only while somebody's turn is on or is being handed on.
//  - Those who interrupt stand before those who queue; among each other they keep their order.
//  - Whoever waits is told exactly once.
#pragma once

#include "tasks/held_claim.hpp"

#include <troupe/runtime.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace troupe {

using claim_ptr = std::shared_ptr<held_claim>;

/// Why a run is not begun any more.
error runtime_is_stopping();

/// Any thread. Owned by a shared_ptr: turns may end behind it.
class thread_turns : public std::enable_shared_from_this<thread_turns> {
public:
  /// Its turn has come, or why it never will. Called with no lock held; short, must not throw.
  using told = std::function<void(result<void>)>;

  /// Begins a turn at once, where nothing has to be waited for: a run that is taken over is
  /// revoked, unless it has ended but for its saves. False: call wait(). Errors: conflict for
  /// `reject`; runtime_stopped.
  result<bool> begin(const std::string& thread_id, const claim_ptr& claim, multitask_strategy how);

  /// Tells `then` when the turn has come; perhaps before it returns. What is in the way of an
  /// interrupt or rollback is cancelled; the claim's `undo_first` says what to undo.
  /// Errors: (to `then`) overloaded for more than limits::queued_runs_max, runtime_stopped, what
  ///         leave() says.
  void wait(const std::string& thread_id, claim_ptr claim, multitask_strategy how, told then);

  /// Gives up a wait, if there still is one: its `then` gets `why`.
  void leave(const std::string& thread_id, const held_claim* claim, error why);

  /// Whether a run is on, or waits.
  bool busy(const std::string& thread_id);
  std::size_t waiting(const std::string& thread_id);

  /// Tells all who wait, and all who come, that the runtime stops.
  void close();

private:
  struct waiter {
    claim_ptr claim;
    multitask_strategy how;
    told then;
  };
  struct line {
    std::weak_ptr<held_claim> on;
    bool watched = false; // turn_over() is called when `on` is over
    std::deque<waiter> waiting;
  };
  /// What is done, or let go of, when the lock is released.
  struct afterwards;

  line& line_of(const std::string& thread_id);
  bool watch(const std::string& thread_id, line& at, const claim_ptr& on);
  void hand_on(const std::string& thread_id, line& at, afterwards& then);
  void press(line& at, const claim_ptr& on, afterwards& then);
  void turn_over(const std::string& thread_id);

  std::mutex mutex_;
  bool closed_ = false;
  std::unordered_map<std::string, line> lines_;
  std::size_t lines_kept_ = 0; // when those of runs that are gone were dropped last
};

} // namespace troupe
