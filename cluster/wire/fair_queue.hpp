// fair_queue: tasks that wait. Tasks of a run keep their order, and runs take turns. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

namespace troupe::cluster {

using run_number = std::uint64_t;  // of a home, never used again; 0: none
using task_number = std::uint64_t; // of a home, in order of submission, never used again; 0: none

/// All operations take O(log n).
class fair_queue {
public:
  void push(run_number run, task_number task);
  /// Removes a waiting task. False when the queue does not hold the task.
  bool erase(run_number run, task_number task);
  /// The oldest task of the run whose turn it is. The queue must not be empty.
  task_number front() const;
  /// Removes front() and returns it. The queue must not be empty.
  task_number pop();

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

private:
  run_number next_run() const;

  std::map<run_number, std::set<task_number>> runs_; // no set is empty
  run_number last_ = 0;                              // run of the last task that was taken
  std::size_t size_ = 0;
};

} // namespace troupe::cluster
