// held_claim: a run's claim on its thread, which is also its turn. It holds the claim of the run's
// saves, knows when the turn is over, and collects what a rollback needs.
//
// Invariants:
//  - The turn is over once: when the run has ended and all its saves were answered. From then on,
//    nothing of a nested run that still runs reaches the saver.
//  - before_run() is complete when the turn is over.
#pragma once

#include <troupe/run_config.hpp>
#include <troupe/saver.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace troupe {

/// Shared by a root run and all runs within it. Any thread.
class held_claim {
public:
  held_claim() = default;
  held_claim(const held_claim&) = delete;
  held_claim& operator=(const held_claim&) = delete;
  /// Ends the turn of a run that never began.
  ~held_claim() { run_ended(); }

  thread_claim first;                         // of requests until one was stored
  std::atomic<bool> held{false};              // a request was stored under this claim
  std::atomic<bool> rests{false};             // the run has put the thread to rest
  std::atomic<bool> revoked{false};           // another run of this runtime took over
  std::string after_id;                       // less than the id of any checkpoint of the run
  store_history history = store_history::all; // of the run
  /// The run that is undone before this run begins. Set before this run's turn.
  std::shared_ptr<held_claim> undo_first;

  thread_claim now() const noexcept {
    return held ? thread_claim{first.owner, first.owner} : first;
  }
  /// The claim of the run's last requests, which put the thread to rest. `behind`: other requests
  /// of the run come before them.
  thread_claim at_rest(bool behind) const noexcept {
    return {behind ? first.owner : first.before, first.owner | thread_at_rest,
            !behind && first.from_newest};
  }

  // -- the turn

  /// Called before something is handed to the saver. False: the turn is over, and nothing may be
  /// handed over.
  bool save_begins() noexcept;
  void save_answered() { leave(); }
  void run_ended();
  bool ended() const noexcept { return ended_.load(); }
  bool over() const noexcept { return state_.load() == state::over; }
  /// Calls `then` once, when the turn is over, on the thread that ends it. False: the turn is over
  /// already. Called at most once, by the owner of the thread's turns.
  bool when_over(std::function<void()> then);

  // -- cancelling

  /// Sets the function that ends the run; calls it at once when the run was cancelled before.
  void begun(std::function<void()> stop);
  void cancel();

  // -- undoing

  /// The run, or one within it, resumes from this checkpoint with these writes.
  void goes_on_from(checkpoint_ref ref, std::vector<pending_write> writes);
  /// The point to which a rollback of the run returns. Call it only when the turn is over.
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
