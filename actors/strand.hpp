// strand: resumes the actors of one run one after another, on whatever scheduler thread. So a step
// of a run without a lent thread wakes no other thread.
//
// Invariants:
//  - at most one scheduler thread resumes actors from the queue at a time.
//  - the strand is in the scheduler's queue, or being resumed, exactly while `scheduled_`.
//  - while it is held, no actor is resumed; jobs wait in the queue.
//  - the scheduler shares ownership of the strand with its runtime. In a system that outlives the
//    runtime, a worker may still hold the strand when the runtime has ended.
#pragma once

#include "actors/unit_pool.hpp"
#include "tasks/run_shared.hpp"

#include <caf/execution_unit.hpp>
#include <caf/fwd.hpp>
#include <caf/intrusive_ptr.hpp>
#include <caf/resumable.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>

namespace troupe {

/// The most messages that an actor takes before other actors get the thread.
inline constexpr std::size_t messages_per_turn = 32;
/// The same in a run whose parts somebody reads. A reader that lags holds the run between turns.
inline constexpr std::size_t watched_messages_per_turn = 1;

class strand : public caf::execution_unit, public caf::resumable, public run_brake {
public:
  explicit strand(caf::actor_system& system) { system_ = &system; }

  /// Resume `job` soon. From any thread.
  void exec_later(caf::resumable* job) override;

  /// Whether somebody reads the parts of the run that begins with this unit.
  void watch(bool on) noexcept { messages_ = on ? watched_messages_per_turn : messages_per_turn; }

  // run_brake
  void hold() override;
  void let_go() override;

  /// Takes the scheduler's turn for the calling thread, which has to call resume() then. False when
  /// the strand is held, or has its turn on another thread.
  bool take_turn();
  /// The scheduler's turn: resumes part of the queue.
  resume_result resume(caf::execution_unit* worker, std::size_t max_throughput) override;

  void intrusive_ptr_add_ref_impl() override;
  void intrusive_ptr_release_impl() override;
  friend void intrusive_ptr_add_ref(strand* unit) { unit->intrusive_ptr_add_ref_impl(); }
  friend void intrusive_ptr_release(strand* unit) { unit->intrusive_ptr_release_impl(); }

private:
  std::atomic<std::size_t> owners_{0};
  std::mutex mutex_;
  std::deque<caf::resumable*> queue_;
  bool scheduled_ = false;
  bool held_ = false;
  std::size_t messages_ = messages_per_turn; // changed between two runs
};

using strand_pool = unit_pool<strand, caf::intrusive_ptr<strand>>;

} // namespace troupe
