// Tasks that wait: in order within a run, the runs in turns. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

namespace troupe::cluster {

using run_number = std::uint64_t;  // of a home, never used again; 0: none
using task_number = std::uint64_t; // of a home, in order of submission, never used again; 0: none

/// O(log n) in everything.
class fair_queue {
public:
  void push(run_number run, task_number task);
  /// False when it was not there.
  bool erase(run_number run, task_number task);
  /// The oldest task of the run whose turn it is. The queue must not be empty.
  task_number front() const;
  task_number pop();

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

private:
  run_number next_run() const;

  std::map<run_number, std::set<task_number>> runs_; // none is empty
  run_number last_ = 0;                              // whose turn it was
  std::size_t size_ = 0;
};

} // namespace troupe::cluster
