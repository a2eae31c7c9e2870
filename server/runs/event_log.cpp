// event_log: appending and reading.
#include "server/runs/event_log.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

event_log::event_log(std::size_t kept_max, std::uint64_t next_seq)
  : kept_max_{kept_max},
    next_seq_{next_seq} {}

void event_log::append(std::string name, std::string data) {
  std::lock_guard lock{mutex_};
  if (!closed_)
    add({next_seq_, std::move(name), std::move(data)});
}

void event_log::append(run_event event, bool is_stored) {
  std::lock_guard lock{mutex_};
  if (!closed_ && event.seq >= next_seq_)
    add(std::move(event), is_stored);
}

// Tells the event, and keeps it among the early ones of a young log, and with those to keep.
void event_log::add(run_event event, bool is_stored) {
  tell(event, is_stored);
  if (!first_at_)
    first_at_ = clock::now();
  if (!is_young())
    early_.clear();
  else if (kept_max_ == 0 && early_.size() < limits::server_join_events_max)
    early_.push_back(event);
  keep(std::move(event));
}

void event_log::restore(run_event event) {
  std::lock_guard lock{mutex_};
  if (closed_ || event.seq < next_seq_)
    return;
  tell(event, true);
  keep(std::move(event));
}

void event_log::tell(const run_event& event, bool is_stored) {
  next_seq_ = event.seq + 1;
  for (const auto& weak : readers_)
    if (auto one = weak.lock(); one && one->reader.event)
      if (!is_stored || event.seq > one->after)
        one->reader.event(event);
  std::erase_if(readers_, [](const auto& weak) { return weak.expired(); });
}

void event_log::keep(run_event event) {
  if (kept_max_ == 0)
    return;
  if (kept_.size() == kept_max_)
    kept_.pop_front();
  kept_.push_back(std::move(event));
}

bool event_log::is_young() const {
  return first_at_ && clock::now() - *first_at_ <= limits::server_join_grace;
}

void event_log::close() {
  std::vector<std::weak_ptr<entry>> readers;
  {
    std::lock_guard lock{mutex_};
    if (std::exchange(closed_, true))
      return;
    readers.swap(readers_);
  }
  for (const auto& weak : readers)
    if (auto one = weak.lock(); one && one->reader.end)
      one->reader.end();
}

bool event_log::is_closed() const {
  std::lock_guard lock{mutex_};
  return closed_;
}

std::uint64_t event_log::last_seq() const {
  std::lock_guard lock{mutex_};
  return next_seq_ - 1;
}

bool event_log::has_readers() const {
  std::lock_guard lock{mutex_};
  return std::ranges::any_of(readers_, [](const auto& weak) { return !weak.expired(); });
}

std::vector<run_event> event_log::early_events() const {
  std::lock_guard lock{mutex_};
  return is_young() ? std::vector<run_event>{early_.begin(), early_.end()}
                    : std::vector<run_event>{};
}

std::shared_ptr<void> event_log::read(event_reader reader, std::optional<std::uint64_t> after) {
  auto one = std::make_shared<entry>(entry{std::move(reader), after.value_or(0)});
  {
    std::lock_guard lock{mutex_};
    if (after || is_young())
      for (const auto& event : kept_max_ > 0 ? kept_ : early_)
        if (event.seq > one->after && one->reader.event)
          one->reader.event(event);
    if (!closed_) {
      readers_.push_back(one);
      return one;
    }
  }
  if (one->reader.end)
    one->reader.end();
  return one;
}

} // namespace troupe::server
