// part_fan: handing parts to queues, and holding the run while one of them is full.
#include "coordinator/part_fan.hpp"

#include "coordinator/stream_queue.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

part_fan::reader::reader(const stream_options& options)
  : parts_max_{std::max<std::size_t>(options.queue_parts_max, 1)},
    when_full_{options.when_full} {
  for (auto mode : options.modes)
    modes_ |= 1u << static_cast<unsigned>(mode);
}

// -- readers

result<part_fan::reader_ptr> part_fan::add(const stream_options& options) {
  auto who = std::make_shared<reader>(options);
  std::lock_guard lock{mutex_};
  auto known = modes_.load(std::memory_order_relaxed);
  if (begun_)
    for (auto mode : options.modes)
      if ((known & 1u << static_cast<unsigned>(mode)) == 0)
        return error{errc::invalid_config,
                     "read a run: it has begun without a reader of the mode `"
                       + std::string{to_string(mode)}
                       + "`: ask for each mode before the first part is read"};
  modes_.store(known | who->modes_, std::memory_order_relaxed);
  readers_.push_back(who);
  return who;
}

void part_fan::remove(const reader_ptr& who) {
  std::deque<reader::waiting_part> dropped; // destroyed after the lock is released
  std::function<void()> asleep;
  std::lock_guard lock{mutex_};
  std::erase(readers_, who);
  stop_unread();
  dropped.swap(who->parts_);
  asleep.swap(who->wake_);
  brake();
}

part_list part_fan::take_all(reader& who) {
  std::deque<reader::waiting_part> taken;
  {
    std::lock_guard lock{mutex_};
    taken.swap(who.parts_);
    who.kept_ = 0;
    brake();
  }
  part_list out;
  for (auto& [part, kept] : taken)
    out.push_back(std::move(part));
  return out;
}

bool part_fan::ready(const reader& who) const {
  std::lock_guard lock{mutex_};
  return at_end(who) || !who.parts_.empty();
}

void part_fan::wait(reader& who) {
  std::unique_lock lock{mutex_};
  who.arrived_.wait(lock, [&] { return at_end(who) || !who.parts_.empty(); });
}

void part_fan::when_ready(reader& who, std::function<void()> then) {
  {
    std::lock_guard lock{mutex_};
    if (!at_end(who) && who.parts_.empty()) {
      who.wake_.swap(then);
      return;
    }
  }
  then();
}

std::optional<result<run_result>> part_fan::outcome(const reader& who) const {
  std::lock_guard lock{mutex_};
  if (who.failed_ && at_end(who))
    return reader_lags();
  return end_;
}

std::optional<result<run_result>> part_fan::outcome() const {
  std::lock_guard lock{mutex_};
  return end_;
}

// -- the run

void part_fan::begin(std::shared_ptr<thread_log> log) {
  std::lock_guard lock{mutex_};
  begun_ = true;
  log_ = std::move(log);
  if (log_)
    log_->open();
}

void part_fan::end(result<run_result> how) {
  wake_list sleepers;
  {
    std::lock_guard lock{mutex_};
    if (end_)
      return;
    end_ = std::move(how);
    open_ = true;
    brake();
    brake_ = nullptr;
    if (log_)
      log_->close();
    log_.reset();
    for (auto& who : readers_)
      wake_if_ready(*who, sleepers);
  }
  wake(sleepers);
}

void part_fan::abandon() {
  stops_.store(true, std::memory_order_relaxed);
  run_is_stopped();
}

bool part_fan::wants(stream_mode mode) const noexcept {
  return (modes_.load(std::memory_order_relaxed) & 1u << static_cast<unsigned>(mode)) != 0;
}

// Copies the part for a reader that wants it, or moves it there.
template <class Part>
void part_fan::offer(reader& who, Part&& part, bool of_engine, wake_list& sleepers) {
  if ((who.modes_ & 1u << static_cast<unsigned>(part.mode)) == 0)
    return;
  if (make_room(who, of_engine)) {
    bool kept = of_engine || who.when_full_ == overflow::wait;
    who.kept_ += kept ? 1 : 0;
    who.parts_.push_back({std::forward<Part>(part), kept});
  }
  wake_if_ready(who, sleepers);
}

void part_fan::add_part(stream_part part, bool of_engine) {
  wake_list sleepers;
  {
    std::lock_guard lock{mutex_};
    if (end_)
      return;
    if (log_)
      log_->append(part);
    else
      part.seq = ++seq_;
    for (std::size_t i = 0; i + 1 < readers_.size(); ++i)
      offer(*readers_[i], part, of_engine, sleepers);
    if (!readers_.empty())
      offer(*readers_.back(), std::move(part), of_engine, sleepers);
    brake();
  }
  wake(sleepers);
}

// Whether the part gets a place in the queue of this reader. Parts of the engine always do.
bool part_fan::make_room(reader& who, bool of_engine) {
  bool has_room = who.parts_.size() < who.parts_max_;
  if (of_engine) // of a run that stops for its reader, the parts of the step still arrive
    return !who.failed_ || stops_;
  switch (who.when_full_) {
    case overflow::wait: return true; // the brake holds the run
    case overflow::drop_newest: return has_room;
    case overflow::drop_oldest: {
      if (has_room)
        return true;
      auto oldest = std::ranges::find(who.parts_, false, &reader::waiting_part::kept);
      if (oldest == who.parts_.end())
        return false; // the new part is the oldest streamed one
      who.parts_.erase(oldest);
      return true;
    }
    case overflow::fail:
      if (has_room || who.failed_)
        return !who.failed_;
      who.failed_ = true;
      stop_unread();
      return false;
  }
  return true;
}

// Stops the run when each reader that is left lags although it may not.
void part_fan::stop_unread() {
  auto failed = [](const auto& who) { return who->failed_; };
  auto reads_on = [](const auto& who) { return !who->failed_ && who->modes_ != 0; };
  if (std::ranges::none_of(readers_, failed) || std::ranges::any_of(readers_, reads_on))
    return;
  lagged_ = true;
  stops_.store(true, std::memory_order_relaxed);
}

// Whether no part comes any more.
bool part_fan::at_end(const reader& who) const {
  return end_ || (who.failed_ && !stops_);
}

bool part_fan::lags(const reader& who) const {
  return !who.failed_ && who.kept_ >= who.parts_max_;
}

// Holds the run while a reader lags; lets it go otherwise. Called under the lock.
void part_fan::brake() {
  bool hold = !open_
              && std::ranges::any_of(readers_, [this](const auto& who) { return lags(*who); });
  if (!hold)
    room_.notify_all();
  if (brake_ && hold != std::exchange(held_, hold))
    hold ? brake_->hold() : brake_->let_go();
}

void part_fan::wake_if_ready(reader& who, wake_list& sleepers) const {
  if (!at_end(who) && who.parts_.empty())
    return;
  if (who.wake_)
    sleepers.push_back(std::exchange(who.wake_, {}));
  who.arrived_.notify_all();
}

void part_fan::wake(wake_list& sleepers) {
  for (auto& wake_one : sleepers)
    wake_one();
}

// A body waits only for readers that chose so.
void part_fan::wait_for_room() {
  std::unique_lock lock{mutex_};
  room_.wait(lock, [this] {
    return open_ || std::ranges::none_of(readers_, [this](const auto& who) {
             return who->when_full_ == overflow::wait && lags(*who);
           });
  });
}

std::optional<error> part_fan::failure() const {
  std::lock_guard lock{mutex_};
  return lagged_ ? std::optional{reader_lags()} : std::nullopt;
}

void part_fan::braked_by(run_brake* by) {
  std::lock_guard lock{mutex_};
  brake_ = by;
  brake();
}

void part_fan::run_is_stopped() {
  std::lock_guard lock{mutex_};
  open_ = true;
  brake();
}

} // namespace troupe
