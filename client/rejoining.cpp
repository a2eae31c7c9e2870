// rejoining: counting and remembering.
#include "client/rejoining.hpp"

#include "http/retry.hpp"

namespace troupe {

std::optional<std::chrono::milliseconds> lost_connections::next(double chance) {
  if (count_ >= most_)
    return std::nullopt;
  return retry_wait(++count_ + 1, first_wait_, longest_wait_, chance);
}

bool seen_events::is_new(const run_event& event) {
  if (event.event == "metadata") {
    if (metadata_ == event.data)
      return false;
    metadata_ = event.data;
  }
  if (event.id.empty())
    return true;
  if (earlier_.contains(event.id))
    return false;
  now_.push_back(event.id);
  if (now_.size() > kept_) // only the newest count
    now_.erase(now_.begin(), now_.begin() + static_cast<std::ptrdiff_t>(kept_ / 2));
  return true;
}

void seen_events::connected_again() {
  for (auto& id : now_)
    if (earlier_.insert(id).second)
      order_.push_back(std::move(id));
  now_.clear();
  for (; order_.size() > kept_; order_.pop_front())
    earlier_.erase(order_.front());
}

} // namespace troupe
