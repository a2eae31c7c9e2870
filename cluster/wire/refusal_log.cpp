// refusal_log: logs a reason that repeats once in a while.
#include "cluster/wire/refusal_log.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::cluster {

std::string refusal_log::note(const std::string& reason, const std::string& text, time_point now) {
  std::lock_guard lock{mutex_};
  auto [at, is_new] = reasons_.try_emplace(reason);
  auto& entry = at->second;
  if (!is_new && now - entry.logged_at < limits::cluster_refusal_log_interval) {
    ++entry.unsaid;
    return {};
  }
  entry.logged_at = now;
  auto before = std::exchange(entry.unsaid, 0);
  make_room();
  return text + (before > 0 ? " (as with " + std::to_string(before) + " before)" : std::string{});
}

void refusal_log::make_room() {
  if (reasons_.size() > limits::cluster_links_max)
    reasons_.erase(std::ranges::min_element(reasons_, {}, [](const auto& known) {
      return known.second.logged_at;
    }));
}

} // namespace troupe::cluster
