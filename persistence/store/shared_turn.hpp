// shared_turn: jobs that several threads have at once, done together by one of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

/// A thread that comes while jobs are being done waits; then one of the waiting threads does the
/// jobs of all. A Job has a member `bool is_done = false`, which belongs to this class.
/// Invariants:
///  - Jobs are done by one thread at a time, in the order in which they came.
///  - No other thread touches a job once run() has returned.
template <class Job> class shared_turn {
public:
  /// Has a job done, by this thread or by another one that called run().
  /// Shape:  `do_all` takes a std::vector<Job*> and must not throw: the result of a job is written
  ///         to the job.
  /// Blocks: on the jobs that came before.
  template <class DoAll> void run(Job& mine, DoAll do_all) {
    std::unique_lock lock{mutex_};
    waiting_.push_back(&mine);
    changed_.wait(lock, [this, &mine] { return mine.is_done || !is_busy_; });
    if (mine.is_done)
      return;
    is_busy_ = true;
    auto jobs = std::exchange(waiting_, {});
    lock.unlock();
    do_all(jobs);
    lock.lock();
    is_busy_ = false;
    for (auto* job : jobs)
      job->is_done = true;
    changed_.notify_all();
  }

  /// The number of jobs that wait.
  std::size_t waiting() const {
    std::scoped_lock lock{mutex_};
    return waiting_.size();
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job*> waiting_;
  bool is_busy_ = false;
};

} // namespace troupe
