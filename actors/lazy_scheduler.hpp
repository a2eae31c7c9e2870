// lazy_scheduler: the scheduler of a runtime's own actor system. Its threads start when an actor
// first needs one, since a run on a lent thread needs none.
//
// Invariants:
//  - the threads start at most once.
//  - jobs wait in `waiting_` only while it is closed, and only a thread in run_here() takes them.
#pragma once

#include <caf/execution_unit.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace troupe {

class lazy_scheduler : public caf::scheduler::abstract_coordinator {
public:
  explicit lazy_scheduler(caf::actor_system& system);
  ~lazy_scheduler() override;

  /// Resumes the actor soon. From any thread.
  /// Errors: throws std::system_error when the first thread cannot be started.
  void enqueue(caf::resumable* job) override;
  /// CAF's clock, whose thread starts with the others.
  caf::actor_clock& clock() noexcept override;

  bool has_threads() const noexcept { return running_.load(std::memory_order_acquire); }
  /// Whether there are no threads. Actors then wait for run_here(). Only a timer or a line for
  /// CAF's printer still starts the threads.
  bool close_without_threads();
  /// Resumes actors on the calling thread until `done`, or until there are threads.
  /// Blocks: while no actor has a message.
  void run_here(const std::function<bool()>& done);
  /// Starts the threads, which take the waiting actors.
  void resume_with_threads();

  // caf::actor_system::module
  void init(caf::actor_system_config& config) override;
  void start() override;
  void stop() override;

private:
  class thread_pool;
  class caller_unit : public caf::execution_unit {
  public:
    explicit caller_unit(lazy_scheduler& scheduler);
    void exec_later(caf::resumable* job) override;

  private:
    lazy_scheduler& scheduler_;
  };

  thread_pool& threads();
  void start_threads(); // with the lock held
  void resume(caf::resumable* job);

  std::unique_ptr<thread_pool> pool_;
  std::atomic<bool> running_{false}; // the threads of pool_ were started
  std::mutex mutex_;
  bool closed_ = false;
  std::condition_variable changed_;
  std::deque<caf::resumable*> waiting_;
  caller_unit caller_;
};

} // namespace troupe
