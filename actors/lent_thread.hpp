// lent_thread: a thread that a caller lends to its run. Actors are resumed on it instead of on the
// scheduler.
//
// Invariants:
//  - only the lending thread resumes actors from the queues; other threads push under the lock.
//  - a unit outlives every actor that was ever resumed on it: it belongs to the runtime.
//  - a job that is pushed while no thread is lent goes to the scheduler, so none is lost.
//  - a request that a saver left to the thread is written, or passed on to the saver, before the
//    thread resumes another actor, sleeps, or returns to its caller.
#pragma once

#include "actors/logger_reference.hpp"

#include <caf/execution_unit.hpp>
#include <caf/fwd.hpp>
#include <caf/resumable.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace troupe {

class writer_saver; // persistence/writer_saver.hpp

class lent_thread : public caf::execution_unit {
public:
  explicit lent_thread(caf::actor_system& system) { system_ = &system; }

  /// CAF's entry: resume `job` soon. From any thread.
  void exec_later(caf::resumable* job) override;

  /// The calling thread is lent from here until give_back(). Not nested for one unit. `watched`:
  /// the thread reads the parts of the run, too.
  void lend(bool watched = false);
  /// Resumes the rest of the queue; later jobs go to the scheduler.
  void give_back();

  /// During its lifetime the calling thread is the lending one at work, so what it sends needs no
  /// lock.
  class at_work {
  public:
    explicit at_work(lent_thread& unit) noexcept;
    at_work(const at_work&) = delete;
    at_work& operator=(const at_work&) = delete;
    ~at_work();

  private:
    lent_thread* outer_;
  };

  /// Resumes actors until `done` returns true; sleeps while there is nothing to do.
  template <class Done> void run_until(Done done) {
    while (!done())
      step([&done] { return done(); });
  }

  /// Whether the calling thread is the lending one, resuming actors.
  bool is_this_thread() const noexcept;

  /// The unit whose actors the calling thread resumes; null: none.
  static lent_thread* of_this_thread() noexcept;

  /// `to` has left a request to the calling thread, which is the lending one. The thread writes it
  /// as soon as it has nothing to do, if one of the requests is `awaited`; else `to` writes it.
  void left_by(writer_saver& to, bool awaited);

  /// Wakes the lending thread, so that it checks its condition again. From any thread; on the
  /// lending one, which checks it after each actor, there is nothing to do.
  void poke();

private:
  void wake(std::unique_lock<std::mutex> lock);
  void step(const std::function<bool()>& done);
  void resume(caf::resumable* job);
  bool take_foreign();
  bool write_left();
  void pass_on_left();

  std::deque<caf::resumable*> queue_; // used by the lending thread only
  std::mutex mutex_;
  // Shared, because it is notified after the unlock, when the unit may be gone.
  const std::shared_ptr<std::condition_variable> wake_ =
    std::make_shared<std::condition_variable>();
  std::vector<caf::resumable*> foreign_; // pushed by other threads
  std::atomic<bool> pushed_{false};      // foreign_ is not empty, or poke() was called
  bool lent_ = false;
  std::size_t messages_ = 0;               // that an actor takes before other actors get the thread
  std::optional<logger_reference> logger_; // of the thread that is lent
  bool asleep_ = false;
  writer_saver* left_by_ = nullptr; // used by the lending thread only
  bool left_is_awaited_ = false;
};

} // namespace troupe
