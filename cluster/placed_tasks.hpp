// placed_task: a home's task that runs on a worker, with its bytes, its requests to the saver and
// store, its parts, and its end. Decides nothing: the dispatcher chooses the worker and drops old
// messages.
#pragma once

#include "actors/services.hpp"
#include "cluster/remote_task.hpp"
#include "tasks/task_scope.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe::cluster {

/// A task, from the placer's start() to its end. Thread: any.
///
/// Invariants:
///  - After its end, neither the task nor the runtime is used, so their owner may destroy them.
///  - Parts of its body are shown in order, and before its end.
class placed_task : public std::enable_shared_from_this<placed_task> {
public:
  /// `begun` is called when a worker begins the task, if the task has time-outs. `then` is called
  /// once, after the task has its result.
  placed_task(services& shared, task_ptr task, std::function<void()> begun,
              std::function<void()> then);

  const detail::task_scope& task() const noexcept { return *task_; }

  /// The bytes of the task, for each time it is handed out. Called once.
  /// Errors: invalid_value when they are too large.
  result<task_bytes> encode();

  // -- messages of the worker; `send` answers them, on any thread
  using answer = std::function<void(message)>;
  void save(save_order order, answer send);
  void call(call_order order, answer send);
  void part(task_part part, answer send);
  void sign(const task_sign& sign);

  /// Ends the task with an outcome from `worker`. An outcome that can't be read fails the task.
  void finish(bytes outcome, std::string worker);
  void fail(error why);
  /// Ends the task without a result.
  void give_up();

private:
  using job = std::function<void()>;

  bool ended() const noexcept { return ended_.load(); }
  bool may_store(const checkpoint_ref& where) const;
  result<value> carry_out(const value& call, issue_number caller);
  result<void> settle(issue_number reader);
  void in_order(job what, bool may_block);
  void run_jobs();
  void end(const job& fill_in);
  void fill_in(const bytes& outcome, const std::string& worker);

  services& services_;
  const task_ptr task_;
  std::atomic<bool> ended_{false};
  std::recursive_mutex mutex_; // held while the runtime is in use, so that an end waits
  std::function<void()> begun_, then_;
  issue_number begun_as_ = 0; // the issue that has begun
  std::optional<value> lent_; // the run's plain answer, while the task may take it
  issue_number issue_ = 0;    // the issue that stored last
  std::uint64_t saves_ = 0;   // requests that the saver got
  std::uint64_t settled_ = 0; // requests whose data can be read
  std::mutex settling_;       // held while a reader waits for stored data; locked before mutex_
  std::deque<job> jobs_;      // a part that waits for a reader, and later jobs
  bool working_ = false;
};

} // namespace troupe::cluster
