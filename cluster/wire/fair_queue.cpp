// fair_queue: the runs take turns.
#include "cluster/wire/fair_queue.hpp"

namespace troupe::cluster {

void fair_queue::push(run_number run, task_number task) {
  size_ += runs_[run].insert(task).second ? 1 : 0;
}

bool fair_queue::erase(run_number run, task_number task) {
  auto at = runs_.find(run);
  if (at == runs_.end() || at->second.erase(task) == 0)
    return false;
  if (at->second.empty())
    runs_.erase(at);
  --size_;
  return true;
}

run_number fair_queue::next_run() const {
  auto at = runs_.upper_bound(last_);
  return at == runs_.end() ? runs_.begin()->first : at->first;
}

task_number fair_queue::front() const {
  return *runs_.at(next_run()).begin();
}

task_number fair_queue::pop() {
  auto at = runs_.find(next_run());
  last_ = at->first;
  auto task = *at->second.begin();
  at->second.erase(at->second.begin());
  if (at->second.empty())
    runs_.erase(at);
  --size_;
  return task;
}

} // namespace troupe::cluster
