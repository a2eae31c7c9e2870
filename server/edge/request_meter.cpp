// request_meter: counting answers.
#include "server/edge/request_meter.hpp"

#include <algorithm>

namespace troupe::server {

void request_meter::answered(const std::string& method, const std::string& pattern, int status,
                             std::chrono::steady_clock::duration took) {
  auto time = std::chrono::duration<double>(took).count();
  auto bucket = std::ranges::lower_bound(latency_bounds, time) - latency_bounds.begin();
  std::scoped_lock lock{mutex_};
  ++counts_.answered[{method, pattern, status}];
  auto& latency = counts_.latencies[pattern];
  ++latency.buckets[static_cast<std::size_t>(bucket)];
  latency.sum_seconds += time;
  ++latency.count;
}

void request_meter::change(std::uint64_t request_counts::*which) {
  std::scoped_lock lock{mutex_};
  ++(counts_.*which);
}

request_counts request_meter::counts() const {
  std::scoped_lock lock{mutex_};
  return counts_;
}

} // namespace troupe::server
