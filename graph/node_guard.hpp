// node_guard: the circuit breaker and the rate limiter of a node. Time is an argument.
#pragma once

#include <troupe/error.hpp>
#include <troupe/policy.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace troupe {

using guard_time = std::chrono::steady_clock::time_point;

/// The state of a circuit breaker. Closed, it counts failures in a row. Open, it lets no attempt
/// begin. After a while it lets one begin, whose end closes or opens it again.
class circuit_breaker {
public:
  /// Whether an attempt may begin now; else how long the breaker stays open.
  /// Shape:  nullopt: the attempt begins.
  std::optional<std::chrono::nanoseconds> refuses(const circuit_breaker_policy& policy,
                                                  guard_time now);
  /// An attempt ended. One that never ends, because its run was given up, blocks no other for
  /// longer than open_for.
  void ended(const circuit_breaker_policy& policy, bool failed, guard_time now);

private:
  std::uint32_t failures_ = 0; // in a row
  guard_time opens_at_{};      // an attempt may begin from then on; set while it is open
  bool open_ = false;
};

/// The state of a rate limiter: when the next attempt would begin, if attempts came evenly.
/// Source: the generic cell rate algorithm (ITU-T I.371).
class node_rate_limiter {
public:
  /// Takes the place of one attempt, and gives the wait until it may begin.
  std::chrono::nanoseconds reserve(const rate_limit_policy& policy, guard_time now);

private:
  guard_time next_{};
};

/// Both for one node, in all runs of its graph in this process. Any thread.
class node_guard {
public:
  node_guard(const circuit_breaker_policy& breaker, const rate_limit_policy& limit)
    : breaker_policy_{breaker},
      limit_policy_{limit} {}

  std::chrono::nanoseconds reserve(guard_time now);
  std::optional<std::chrono::nanoseconds> refuses(guard_time now);
  /// An attempt ended. Shape: `failure`: null when it succeeded.
  void ended(const error* failure, guard_time now);
  /// The class of the last failed attempt's error; empty before one. Kept for a circuit breaker
  /// alone, and without the message: that may hold what another run's caller must not see.
  std::string last_failure();

private:
  const circuit_breaker_policy breaker_policy_;
  const rate_limit_policy limit_policy_;
  std::mutex mutex_;
  circuit_breaker breaker_;
  std::string last_failure_;
  node_rate_limiter limiter_;
};

} // namespace troupe
