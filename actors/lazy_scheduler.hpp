// lazy_scheduler: the scheduler of a runtime's own actor system. Its threads start when an actor
// first needs one, since a run on a lent thread needs none.
//
// Invariants:
//  - the threads start at most once, and not after close_without_threads() returned true.
//  - after that the thread that ends the runtime resumes all actors.
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

  /// Resumes the actor soon, on a scheduler thread. From any thread.
  /// Errors: throws std::system_error when the first thread cannot be started.
  void enqueue(caf::resumable* job) override;
  caf::actor_clock& clock() noexcept override;

  bool has_threads() const noexcept { return running_.load(std::memory_order_acquire); }
  /// Whether there are no threads. Then none starts from here on, unless resume_with_threads()
  /// is called: the actors wait until run_here() resumes them.
  bool close_without_threads();
  /// Resumes actors on the calling thread until `done`. Called after close_without_threads().
  /// Blocks: while no actor has a message.
  void run_here(const std::function<bool()>& done);
  /// Ends the state that close_without_threads() began: the threads resume the waiting actors.
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
  thread_pool& start_threads(); // with the lock held
  void resume(caf::resumable* job);

  std::unique_ptr<thread_pool> pool_;
  std::atomic<bool> running_{false}; // the threads of pool_ were started
  std::mutex mutex_;
  bool closed_ = false;
  std::condition_variable pushed_;
  std::deque<caf::resumable*> waiting_; // filled while closed
  caller_unit caller_;
};

} // namespace troupe
