// stream_queue: adding parts, making room, and taking them.
#include "coordinator/stream_queue.hpp"

#include "graph/short_pause.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>

namespace troupe {

namespace {

constexpr std::size_t parts_gathered = 256; // at most, before the reader takes them
constexpr int pauses_a_look = 16;           // since a look takes the count from the writer's core

// Both by number.
void add_in_order(part_list& to, part_list& from) {
  if (from.empty())
    return;
  if (to.empty()) {
    to.swap(from);
    return;
  }
  part_list out;
  std::merge(std::move_iterator{to.begin()}, std::move_iterator{to.end()},
             std::move_iterator{from.begin()}, std::move_iterator{from.end()},
             std::back_inserter(out),
             [](const stream_part& x, const stream_part& y) { return x.seq < y.seq; });
  to.swap(out);
}

} // namespace

error reader_lags() {
  return {errc::overloaded, "stream: the reader lags by more than queue_parts_max parts; the run "
                            "stopped at the end of its step"};
}

stream_queue::stream_queue(const stream_options& options, lent_thread& reader)
  : parts_max_{std::max<std::size_t>(options.queue_parts_max, 1)},
    when_full_{options.when_full},
    reader_{reader} {
  for (auto m : options.modes)
    modes_ |= 1u << static_cast<unsigned>(m);
}

stream_queue::~stream_queue() {
  if (log_)
    log_->close();
}

std::optional<error> stream_queue::failure() const {
  return overflowed_ ? std::optional{reader_lags()} : std::nullopt;
}

void stream_queue::keep_in(std::shared_ptr<thread_log> log) {
  log_ = std::move(log);
  log_->open();
}

void stream_queue::push(std::unique_lock<std::mutex>& lock, part_list& where, stream_part&& part) {
  if (log_)
    log_->append(part);
  else
    part.seq = ++seq_;
  where.push_back(std::move(part));
  bool from_elsewhere = !reader_.is_this_thread();
  if (from_elsewhere)
    comes_from_elsewhere_.store(true, std::memory_order_relaxed);
  auto before = size_.load(std::memory_order_relaxed);
  size_.store(before + 1, std::memory_order_release);
  lock.unlock();
  if (before == 0 && from_elsewhere) // a reader sleeps only on an empty queue
    reader_.poke();
}

void stream_queue::emit(stream_part part) {
  std::unique_lock lock{mutex_};
  if (!closed_)
    push(lock, parts_, std::move(part));
}

// Whether a part that a body streams gets a place; waits for one if the reader chose so.
bool stream_queue::make_room(std::unique_lock<std::mutex>& lock) {
  auto has_room = [this] {
    return size_.load(std::memory_order_relaxed) < parts_max_ || closed_; // closed: it is empty
  };
  if (has_room())
    return !overflowed_;
  switch (when_full_) {
    case overflow::wait:
      if (!reader_.is_this_thread()) // the reader itself can't wait for its own reading
        room_.wait(lock, has_room);
      return true;
    case overflow::drop_newest: return false;
    case overflow::drop_oldest:
      if (streamed_.empty()) // only parts of the coordinator wait: the new part is the oldest
                             // streamed one
        return false;
      streamed_.pop_front();
      size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
      return true;
    case overflow::fail: overflowed_ = true; return false;
  }
  return true;
}

void stream_queue::emit_custom(stream_part part) {
  std::unique_lock lock{mutex_};
  if (make_room(lock) && !closed_)
    push(lock, streamed_, std::move(part));
}

void stream_queue::gather() const noexcept {
  if (!comes_from_elsewhere_.load(std::memory_order_relaxed))
    return;
  auto parts = size_.load(std::memory_order_acquire);
  for (std::size_t before = 0; parts != before && parts < parts_gathered;) {
    before = parts;
    for (int i = 0; i < pauses_a_look; ++i)
      short_pause();
    std::this_thread::yield();
    parts = size_.load(std::memory_order_acquire);
  }
}

// The lists are swapped, so that their memory is used again.
void stream_queue::take_all(part_list& into) {
  {
    std::lock_guard lock{mutex_};
    into.swap(parts_);
    taken_.swap(streamed_);
    size_.store(0, std::memory_order_release);
    comes_from_elsewhere_.store(false, std::memory_order_relaxed);
  }
  room_.notify_all();
  add_in_order(into, taken_);
  taken_.clear();
}

void stream_queue::close() {
  {
    std::lock_guard lock{mutex_};
    closed_ = true;
    parts_.clear();
    streamed_.clear();
    size_.store(0, std::memory_order_release);
  }
  room_.notify_all();
}

} // namespace troupe
