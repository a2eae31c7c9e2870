// node_guard: deciding whether and when an attempt at a task begins.
#include "graph/node_guard.hpp"

#include <algorithm>

namespace troupe {

std::optional<std::chrono::nanoseconds>
circuit_breaker::refuses(const circuit_breaker_policy& policy, guard_time now) {
  if (!open_)
    return std::nullopt;
  if (now < opens_at_)
    return opens_at_ - now;
  // This attempt tries the node out. Until it has ended, the others wait as long again.
  opens_at_ = now + std::chrono::duration_cast<guard_time::duration>(policy.open_for);
  return std::nullopt;
}

void circuit_breaker::ended(const circuit_breaker_policy& policy, bool failed, guard_time now) {
  if (!failed) {
    failures_ = 0;
    open_ = false;
    return;
  }
  if (failures_ < policy.failures)
    ++failures_;
  if (failures_ < policy.failures)
    return;
  open_ = true;
  opens_at_ = now + std::chrono::duration_cast<guard_time::duration>(policy.open_for);
}

std::chrono::nanoseconds node_rate_limiter::reserve(const rate_limit_policy& policy,
                                                    guard_time now) {
  auto interval = std::chrono::duration_cast<guard_time::duration>(policy.per) / policy.permits;
  auto burst = policy.burst == 0 ? policy.permits : policy.burst;
  auto begins = std::max(next_ - interval * (burst - 1), now);
  next_ = std::max(next_, now) + interval;
  return begins - now;
}

std::chrono::nanoseconds node_guard::reserve(guard_time now) {
  if (!limit_policy_.given())
    return {};
  std::lock_guard lock{mutex_};
  return limiter_.reserve(limit_policy_, now);
}

std::optional<std::chrono::nanoseconds> node_guard::refuses(guard_time now) {
  if (!breaker_policy_.given())
    return std::nullopt;
  std::lock_guard lock{mutex_};
  return breaker_.refuses(breaker_policy_, now);
}

void node_guard::ended(const error* failure, guard_time now) {
  if (!breaker_policy_.given())
    return;
  std::lock_guard lock{mutex_};
  breaker_.ended(breaker_policy_, failure != nullptr, now);
  if (failure)
    last_failure_ = reference_name(*failure);
}

std::string node_guard::last_failure() {
  std::lock_guard lock{mutex_};
  return last_failure_;
}

} // namespace troupe
