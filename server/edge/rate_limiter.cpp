// rate_limiter: filling and emptying buckets.
#include "server/edge/rate_limiter.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::server {

using std::chrono::duration;
using std::chrono::seconds;

rate_limiter::rate_limiter(rate_options options, std::size_t callers_max)
  : options_{options.per_second, std::max(1.0, options.burst)},
    callers_max_{std::max<std::size_t>(1, callers_max)} {}

std::optional<seconds> rate_limiter::take(const std::string& caller, time_point now) {
  if (options_.per_second <= 0)
    return std::nullopt;
  auto [at, is_new] = buckets_.try_emplace(caller, bucket{options_.burst, now, by_use_.end()});
  auto& mine = at->second;
  if (is_new)
    mine.place = by_use_.insert(by_use_.begin(), caller);
  else
    by_use_.splice(by_use_.begin(), by_use_, mine.place);
  auto gained = duration<double>(now - mine.at).count() * options_.per_second;
  mine.tokens = std::min(options_.burst, mine.tokens + gained);
  mine.at = now;
  if (buckets_.size() > callers_max_)
    drop_oldest();
  if (mine.tokens >= 1) {
    mine.tokens -= 1;
    return std::nullopt;
  }
  auto wait = std::ceil((1 - mine.tokens) / options_.per_second);
  return seconds{static_cast<seconds::rep>(std::clamp(wait, 1.0, 86'400.0))};
}

void rate_limiter::drop_oldest() {
  buckets_.erase(by_use_.back());
  by_use_.pop_back();
}

} // namespace troupe::server
