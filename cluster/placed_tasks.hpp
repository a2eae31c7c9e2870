// A task that a home has elsewhere: what is sent of it, what its worker stores, asks and streams
// here, and its end. Decides nothing: which worker has it, and what counts no more, is the
// dispatcher's.
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

/// From the placer's start() to the task's end. Any thread may call.
///
/// Invariants:
///  - nothing of it is touched once it ended, nor is the runtime: who gives it up may go.
///  - what its body streams is shown in order, and before its end.
class placed_task : public std::enable_shared_from_this<placed_task> {
public:
  /// `begun`: called when a worker begins it, if it has time-outs; `then`: once, when what came of
  /// the task is filled in.
  placed_task(services& shared, task_ptr task, std::function<void()> begun,
              std::function<void()> then);

  const detail::task_scope& task() const noexcept { return *task_; }

  /// What is sent of it, each time it is handed out. Called once.
  /// Errors: invalid_value: too large.
  result<task_bytes> encode();

  // -- what the worker says; `send` answers it, from any thread
  using answer = std::function<void(message)>;
  void save(save_order order, answer send);
  void call(call_order order, answer send);
  void part(task_part part, answer send);
  void sign(const task_sign& sign);

  /// Ends it. An outcome that makes no sense fails the task. `worker`: whose it is.
  void finish(bytes outcome, std::string worker);
  void fail(error why);
  /// Nobody waits for it any more.
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
  std::recursive_mutex mutex_; // held by whoever uses the runtime: ending waits for it
  std::function<void()> begun_, then_;
  issue_number begun_as_ = 0; // the issue that was begun
  std::optional<value> lent_; // the run's plain answer, while the task may take it
  issue_number issue_ = 0;    // that stored last
  std::uint64_t saves_ = 0;   // handed to the saver
  std::uint64_t settled_ = 0; // so many of them can be read
  std::mutex settling_;       // held while one reader waits for what was stored; before mutex_
  std::deque<job> jobs_; // parts that a reader may have to make room for, and what follows them
  bool working_ = false;
};

} // namespace troupe::cluster
