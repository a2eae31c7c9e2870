// lazy_scheduler: the scheduler of a runtime's own actor system. Its threads start when an actor
// first needs one, since a run on a lent thread needs none.
//
// Invariants:
//  - the threads start at most once.
//  - jobs wait in `waiting_` only while it is closed, and only a thread in run_here() takes them.
#pragma once

#include <caf/actor_clock.hpp>
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
  /// Any thread may read the time. A time-out or a delayed message starts the threads.
  caf::actor_clock& clock() noexcept override { return clock_; }

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

  // CAF's clock, whose thread starts with the others. CAF reads the time whenever an actor resumes.
  // Each actor cancels its time-outs at its end, which would wake the clock's thread. So nothing is
  // cancelled before something was set.
  class late_clock : public caf::actor_clock {
  public:
    explicit late_clock(lazy_scheduler& scheduler) : scheduler_{scheduler} {}
    void set_ordinary_timeout(time_point when, caf::abstract_actor* self, caf::atom_value type,
                              std::uint64_t id) override;
    void set_multi_timeout(time_point when, caf::abstract_actor* self, caf::atom_value type,
                           std::uint64_t id) override;
    void set_request_timeout(time_point when, caf::abstract_actor* self,
                             caf::message_id id) override;
    void cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) override;
    void cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) override;
    void cancel_timeouts(caf::abstract_actor* self) override;
    void schedule_message(time_point when, caf::strong_actor_ptr receiver,
                          caf::mailbox_element_ptr content) override;
    void schedule_message(time_point when, caf::group target, caf::strong_actor_ptr sender,
                          caf::message content) override;
    void cancel_all() override;

  private:
    caf::actor_clock& setting();

    lazy_scheduler& scheduler_;
    std::atomic<bool> any_set_{false};
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
  late_clock clock_;
};

} // namespace troupe
