// event_log: appending and reading.
#include "server/runs/event_log.hpp"

#include <utility>

namespace troupe::server {

event_log::event_log(std::size_t kept_max, std::uint64_t next_seq)
  : kept_max_{kept_max},
    next_seq_{next_seq} {}

void event_log::append(std::string name, std::string data) {
  std::lock_guard lock{mutex_};
  if (closed_)
    return;
  run_event event{next_seq_++, std::move(name), std::move(data)};
  for (const auto& weak : readers_)
    if (auto one = weak.lock(); one && one->reader.event)
      one->reader.event(event);
  std::erase_if(readers_, [](const auto& weak) { return weak.expired(); });
  if (kept_max_ == 0)
    return;
  if (kept_.size() == kept_max_)
    kept_.pop_front();
  kept_.push_back(std::move(event));
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

std::shared_ptr<void> event_log::read(event_reader reader, std::optional<std::uint64_t> after) {
  auto one = std::make_shared<entry>(entry{std::move(reader)});
  {
    std::lock_guard lock{mutex_};
    if (after)
      for (const auto& event : kept_)
        if (event.seq > *after && one->reader.event)
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
