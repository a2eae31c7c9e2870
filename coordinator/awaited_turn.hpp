// awaited_turn: a wait for the turn on a thread, by a thread that may block or by a job of the
// blocking lane.
#pragma once

#include "coordinator/runtime_core.hpp"

#include <atomic>

namespace troupe {

/// A place in the queue of the run's thread. When the run's control cancels, the place is given up.
/// The runtime outlives this object.
class awaited_turn {
public:
  awaited_turn(runtime_core& runtime, const run_shared& shared);
  awaited_turn(const awaited_turn&) = delete;
  awaited_turn& operator=(const awaited_turn&) = delete;
  /// Gives up the place if the turn has not come.
  ~awaited_turn();

  /// Waits for the turn.
  /// Errors: cancelled, overloaded, runtime_stopped.
  /// Blocks: until the turn has come.
  result<void> wait();

  /// Calls `job` with the result of the wait, on a thread of the blocking lane. The wait ends after
  /// the job.
  static void then(const std::shared_ptr<awaited_turn>& turn,
                   std::function<void(result<void>)> job);

private:
  void finish();

  struct answer {
    latch told;
    result<void> how;
  };
  runtime_core& runtime_;
  claim_ptr claim_;
  std::string thread_id_;
  run_control control_;
  bool admitted_;
  std::atomic<bool> finished_{false};
  std::shared_ptr<answer> answer_ = std::make_shared<answer>();
};

} // namespace troupe
