// A run's claim on its thread, which is also its turn: what its saves carry, when it is over, and
// what has to be undone to undo it.
//
// Invariants:
//  - The turn is over once: when the run ended and everything it handed to the saver was answered.
//    From then on, nothing of a run within it that is still on reaches the saver.
//  - `undo` is complete when the turn is over.
#pragma once

#include <troupe/saver.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace troupe {

/// Of a root run and all runs within it. Any thread.
class held_claim {
public:
  held_claim() = default;
  held_claim(const held_claim&) = delete;
  held_claim& operator=(const held_claim&) = delete;
  /// Of a run that never began, ends the turn.
  ~held_claim() { run_ended(); }

  thread_claim first;               // of requests until one was stored
  std::atomic<bool> held{false};    // one was
  std::atomic<bool> rests{false};   // the thread was put to rest behind it
  std::atomic<bool> revoked{false}; // another run of this runtime took over
  std::string after_id;             // less than the id of any checkpoint of the run
  /// The run to be undone before this one begins. Set before this one's turn.
  std::shared_ptr<held_claim> undo_first;

  thread_claim now() const noexcept {
    return held ? thread_claim{first.owner, first.owner} : first;
  }
  /// Of the run's last requests, which put the thread to rest. `behind`: others come before them.
  thread_claim at_rest(bool behind) const noexcept {
    return {behind ? first.owner : first.before, first.owner | thread_at_rest,
            !behind && first.from_newest};
  }

  // -- the turn

  /// Something is handed to the saver; false: the turn is over, and it must not be.
  bool save_begins() noexcept;
  void save_answered() { leave(); }
  void run_ended();
  bool ended() const noexcept { return ended_.load(); }
  bool over() const noexcept { return state_.load() == state::over; }
  /// Calls `then` once, when the turn is over, on the thread that ends it. False: it is over
  /// already. Called at most once, by the owner of the thread's turns.
  bool when_over(std::function<void()> then);

  // -- cancelling

  /// How to end the run, once it can be; at once if that was asked for before.
  void begun(std::function<void()> stop);
  void cancel();

  // -- undoing

  /// The run, or one within it, goes on from this checkpoint with these writes.
  void goes_on_from(checkpoint_ref ref, std::vector<pending_write> writes);
  /// What undoes the run. Of a turn that is over.
  rewind_point before_run();

private:
  enum class state : std::uint8_t { on, awaited, over };
  void leave();

  std::atomic<std::uint32_t> open_{1}; // the run, and its saves without an answer
  std::atomic<bool> ended_{false};
  std::atomic<state> state_{state::on};
  std::function<void()> then_; // written before `awaited` is

  std::mutex mutex_;
  std::function<void()> stop_;
  bool cancelled_ = false;
  std::vector<rewind_point::head> heads_;
};

} // namespace troupe
