// The latch: waiting for something that another thread ends.
#include "tasks/nested.hpp"

#include "tasks/task_scope.hpp"

namespace troupe {

void latch::release() {
  std::function<void()> then;
  {
    std::lock_guard lock{mutex_};
    open_.store(true, std::memory_order_release);
    then.swap(then_);
  }
  wake_.notify_all();
  if (then)
    then();
}

void latch::when_open(std::function<void()> then) {
  {
    std::lock_guard lock{mutex_};
    if (!open()) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

void latch::wait() {
  std::unique_lock lock{mutex_};
  wake_.wait(lock, [this] { return open(); });
}

void detail::task_call::message_gone() {
  if (taken.exchange(true))
    return;
  failure = error{errc::cancelled, "task `" + node->name + "`: the run has ended"};
  caller.reset();
  ended.release();
}

} // namespace troupe
