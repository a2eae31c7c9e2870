// Retries: computing the wait before the next attempt, and the error of a time-out.
#include "tasks/attempts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

nanoseconds back_off(const retry_policy& policy, std::uint32_t attempt) {
  auto wait = static_cast<double>(policy.initial_interval.count())
              * std::pow(std::max(policy.backoff_factor, 0.0), attempt - 1);
  auto most = static_cast<double>(policy.max_interval.count());
  return nanoseconds{static_cast<std::int64_t>(std::clamp(wait, 0.0, std::max(most, 0.0)))};
}

std::string seconds(nanoseconds t) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3fs", static_cast<double>(t.count()) / 1e9);
  return text;
}

} // namespace

std::optional<nanoseconds> retry_delay(const retry_policy& policy, std::uint32_t attempt,
                                       const error& failure, double random) {
  // A stop of the run is not a failure of the task, whatever the policy retries on.
  if (failure.code() == errc::graph_drained || failure.code() == errc::cancelled)
    return std::nullopt;
  const auto* fits = policy.max_attempts > 0 && policy.retry_on(failure) ? &policy : nullptr;
  for (const auto& other : policy.otherwise)
    if (!fits && other.retry_on(failure))
      fits = &other;
  if (!fits || attempt >= fits->max_attempts)
    return std::nullopt;
  auto jitter = fits->jitter ? nanoseconds{static_cast<std::int64_t>(random * 1e9)}
                             : nanoseconds{0};
  return back_off(*fits, attempt) + jitter;
}

error breaker_error(const std::string& node, nanoseconds open_for, const std::string& because) {
  return {errc::overloaded,
          "node `" + node + "`: its circuit breaker is open for another " + seconds(open_for)
            + ", because its attempts failed, the last one with " + because,
          "CircuitOpenError"};
}

error timeout_error(const std::string& node, bool idle, nanoseconds bound, nanoseconds elapsed) {
  const char* kind = idle ? "idle" : "run";
  return error{errc::node_timeout, "Node '" + node + "' exceeded its " + kind + " timeout of "
                                     + seconds(bound) + (idle ? " without making progress" : "")
                                     + " (elapsed: " + seconds(elapsed) + ")."}
    .with_details(value{{"node", node},
                        {"kind", kind},
                        {"timeout", std::chrono::duration<double>(bound).count()},
                        {"elapsed", std::chrono::duration<double>(elapsed).count()}});
}

} // namespace troupe
