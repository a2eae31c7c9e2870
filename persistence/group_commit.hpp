// group_commit: the writer. It takes requests in order, writes many into one transaction, syncs
// once, and answers all. The writer is a thread of its own. While that one sleeps, a thread that
// waits for an answer writes. Knows no LMDB: it writes into a commit_sink.
#pragma once

#include "persistence/spent_requests.hpp"

#include <troupe/saver.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace troupe {

/// How the write of a job into the open transaction ended.
struct write_outcome {
  result<void> answer;
  /// False: the transaction must be given up. True with an error: the job was refused and left no
  /// trace.
  bool transaction_stands = true;
  std::size_t bytes = 0;
};

/// A job for the writer.
struct commit_job {
  save_request request;       // empty: only a place in the order
  bool delete_thread = false; // of request.ref.thread_id
  /// Other work within the transaction, instead of the above. Called again when the transaction had
  /// to be given up.
  std::function<write_outcome()> upkeep = nullptr;
  save_ack when = save_ack::durable;
  bool hurries = true; // of a durable job: the transaction does not wait for others
  std::function<void(result<void>)> done;
  std::shared_ptr<spent_requests> spent = nullptr; // gets the request when it is committed
  bool by_waiter = false; // the thread that submitted it can do the writing

  bool is_empty() const noexcept {
    return !delete_thread && !upkeep && request.writes.empty() && !request.put && !request.claim;
  }
};

/// A store with at most one open transaction. When a member throws std::bad_alloc, abort() is
/// called next, whether a transaction is open or not.
/// Thread: one at a time. A transaction ends on the thread on which it began.
class commit_sink {
public:
  virtual ~commit_sink() = default;
  virtual result<void> begin() = 0;
  virtual write_outcome write(const commit_job& job) = 0;
  virtual result<void> commit() = 0; // ends the transaction, even when it fails
  virtual void abort() = 0;
  /// Announces the next jobs, in place of those announced before, so that the sink can prepare for
  /// all at once. True: they belong into one transaction, even if it gets older than the window.
  virtual bool foresee(std::span<const commit_job>) { return false; }
  /// Whether the failed commit may succeed when the same is written once more, or even may have
  /// succeeded.
  virtual bool may_repeat() const { return false; }
};

/// Gathers jobs into transactions.
/// A transaction is committed in three cases:
/// - it has a durable job that hurries, and no other job waits;
/// - it is as old as the window and, if the sink wants that, holds all jobs that were taken off the
///   queue with it;
/// - it holds limits::commit_bytes_max.
/// Thread: any. `done` is called on the thread that writes. It must be short, must not throw, and
///         must not drop the last reference to this object's owner.
/// Order:  jobs are written in the order of submit(). When a job breaks the transaction, the jobs
///         before it are committed, then the job is tried once more alone.
/// Errors: storage_failed also when memory runs out, here or in the sink (std::bad_alloc); then the
///         open transaction is given up.
class group_commit {
public:
  group_commit(commit_sink& sink, std::chrono::milliseconds window);
  /// Writes and commits all submitted jobs, answers them, and ends the thread.
  ~group_commit();
  group_commit(const group_commit&) = delete;
  group_commit& operator=(const group_commit&) = delete;

  void submit(commit_job job) { static_cast<void>(enqueue(std::move(job))); }
  /// As submit(), on a thread that will have nothing to do before the answer. True: the writer
  /// thread sleeps on, and the job is left to the caller. The caller soon calls write_left(), or
  /// call_writer() if it has something else to do.
  bool submit_or_leave(commit_job job);
  /// Writes and commits all that waits, on the calling thread. False: the writer thread does so, or
  /// another caller.
  /// Blocks: on a commit. Signals to the calling thread wait for as long.
  bool write_left();
  /// Leaves all that waits to the writer thread.
  void call_writer();
  /// Submits the job with `durable` and waits for the answer.
  result<void> submit_and_wait(commit_job job);
  /// Commits the jobs of a thread (of all threads when empty) that were accepted and are not
  /// durable yet.
  /// Blocks: on a commit, if there are such jobs.
  void flush(const std::string& thread_id);

private:
  using clock = std::chrono::steady_clock;

  // ---- the queue, shared
  bool enqueue(commit_job job);
  bool writer_has_nothing() const noexcept;
  bool wait_for_work();
  bool poll_for_work();
  bool queue_is_empty() const noexcept;
  void take_queue();
  bool begin_turn();
  bool take_more();
  void end_turn();

  // ---- the transaction, on the thread that writes
  void run();
  void write_next();
  void take(commit_job& job);
  bool answer_at_once(commit_job& job);
  bool open(commit_job& job);
  void enter(commit_job& job, const write_outcome& outcome);
  void write_again(commit_job& job);
  result<void> rewrite_batch();
  result<void> write_batch();
  void foresee(std::span<const commit_job> jobs);
  bool is_due() const;
  void end_transaction();
  void close();
  result<void> commit_batch();
  bool is_of_one_waiter() const;
  void refuse(commit_job& job, const troupe::error& why);
  void settle(const result<void>& committed);
  void give_up();

  commit_sink& sink_;
  const std::chrono::milliseconds window_;

  std::mutex queue_mutex_;
  std::condition_variable queue_filled_;
  std::vector<commit_job> queue_;
  bool writer_sleeps_ = false;
  bool waiter_writes_ = false; // in write_left(); the writer thread sleeps
  bool stopping_ = false;
  std::atomic<std::size_t> queued_ = 0; // queue_.size(), readable without the lock
  std::atomic<bool> stop_seen_ = false;

  std::vector<commit_job> taken_; // taken off the queue, not yet written
  std::size_t next_taken_ = 0;
  bool taken_stay_together_ = false; // the jobs in taken_ belong into one transaction
  std::vector<commit_job> batch_;    // the jobs in the open transaction
  bool is_open_ = false;
  std::size_t batch_bytes_ = 0;
  bool batch_is_awaited_ = false; // a durable job that hurries is in batch_
  bool expects_waiter_ = false;   // the thread that submitted the last batch can write the next one
  clock::time_point opened_at_;
  std::unordered_map<std::string, troupe::error> lost_; // the error of accepted jobs that were not
                                                        // committed, by thread
  bool cannot_tell_ = false; // lost_ could not be stored: no further job is taken

  std::mutex uncommitted_mutex_;
  std::unordered_set<std::string> uncommitted_; // threads with accepted jobs in batch_
  std::atomic<bool> any_uncommitted_ = false;

  std::thread writer_; // the last member: the thread uses all others
};

} // namespace troupe
