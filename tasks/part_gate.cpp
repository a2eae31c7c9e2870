// The order of a run's parts while some of them wait for the disk.
#include "tasks/part_gate.hpp"

#include <algorithm>

namespace troupe {

// Whether the part waits for those before it.
bool part_gate::queued(stream_part& part, bool from_body) {
  if (!holds_.load(std::memory_order_acquire))
    return false;
  std::lock_guard lock{mutex_};
  if (waiting_.empty())
    return false;
  waiting_.push_back({0, from_body, std::move(part)});
  from_bodies_ += from_body ? 1 : 0;
  return true;
}

void part_gate::emit(stream_part part) {
  if (!queued(part, false))
    next_->emit(std::move(part));
}

void part_gate::emit_custom(stream_part part) {
  if (!queued(part, true))
    next_->emit_custom(std::move(part));
}

std::uint64_t part_gate::hold(stream_part part) {
  std::lock_guard lock{mutex_};
  waiting_.push_back({++last_, false, std::move(part)});
  holds_.store(true, std::memory_order_release);
  return last_;
}

void part_gate::release(std::uint64_t number) {
  settle(number, true);
}

void part_gate::drop(std::uint64_t number) {
  settle(number, false);
}

void part_gate::settle(std::uint64_t number, bool leaves) {
  std::lock_guard lock{mutex_};
  auto held = std::ranges::find(waiting_, number, &waiting_part::number);
  if (held == waiting_.end())
    return;
  if (leaves)
    held->number = 0;
  else
    waiting_.erase(held);
  let_go();
}

// Called under the lock, so that no later part overtakes these. emit() never waits for the reader.
void part_gate::let_go() {
  while (!waiting_.empty() && waiting_.front().number == 0) {
    from_bodies_ -= waiting_.front().from_body ? 1 : 0;
    next_->emit(std::move(waiting_.front().part));
    waiting_.pop_front();
  }
  if (waiting_.empty())
    holds_.store(false, std::memory_order_release);
  if (from_bodies_ < limits::stream_queue_parts_max)
    room_.notify_all();
}

void part_gate::wait_for_room() {
  if (holds_.load(std::memory_order_acquire)) {
    std::unique_lock lock{mutex_};
    room_.wait(lock, [this] { return from_bodies_ < limits::stream_queue_parts_max; });
  }
  next_->wait_for_room();
}

} // namespace troupe
