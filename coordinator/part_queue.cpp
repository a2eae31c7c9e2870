// The way of a run's parts to their reader.
#include "coordinator/part_queue.hpp"

namespace troupe {

part_queue::part_queue(const std::vector<stream_mode>& modes, lent_thread& reader)
  : reader_{reader} {
  for (auto m : modes)
    modes_ |= 1u << static_cast<unsigned>(m);
}

void part_queue::push(std::unique_lock<std::mutex>& lock, stream_part part) {
  part.seq = ++seq_;
  parts_.push_back(std::move(part));
  bool first = size_.fetch_add(1, std::memory_order_release) == 0;
  lock.unlock();
  if (first) // a reader that sleeps sleeps on an empty queue
    reader_.poke();
}

void part_queue::emit(stream_part part) {
  std::unique_lock lock{mutex_};
  if (!closed_)
    push(lock, std::move(part));
}

void part_queue::emit_custom(stream_part part) {
  std::unique_lock lock{mutex_};
  room_.wait(lock, [this] { return closed_ || parts_.size() < limits::stream_queue_parts_max; });
  if (!closed_)
    push(lock, std::move(part));
}

std::deque<stream_part> part_queue::take_all() {
  std::deque<stream_part> out;
  {
    std::lock_guard lock{mutex_};
    out.swap(parts_);
    size_.store(0, std::memory_order_release);
  }
  room_.notify_all();
  return out;
}

void part_queue::close() {
  {
    std::lock_guard lock{mutex_};
    closed_ = true;
    parts_.clear();
    size_.store(0, std::memory_order_release);
  }
  room_.notify_all();
}

} // namespace troupe
