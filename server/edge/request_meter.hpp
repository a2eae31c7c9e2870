// request_meter: counts of requests, for /metrics.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace troupe::server {

/// Units:  the upper bounds of the histogram's buckets, in seconds; a last bucket has the rest.
inline constexpr std::array<double, 11> latency_bounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                       0.5,   1,    2.5,   5,    10};

/// The time from a request's last byte to the answer's first one.
struct latency_counts {
  std::array<std::uint64_t, latency_bounds.size() + 1> buckets{}; ///< each without those before
  double sum_seconds = 0;
  std::uint64_t count = 0;
};

struct request_counts {
  /// By method, pattern of the route ("" without one) and status; 499: the peer was gone first.
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> answered;
  std::map<std::string, latency_counts> latencies; ///< by pattern
  std::uint64_t turned_away = 0;                   ///< for want of a thread or a connection
  std::uint64_t rate_limited = 0;
  std::uint64_t unauthenticated = 0;
};

/// Thread: any.
class request_meter {
public:
  void answered(const std::string& method, const std::string& pattern, int status,
                std::chrono::steady_clock::duration took);
  void turned_away() { change(&request_counts::turned_away); }
  void rate_limited() { change(&request_counts::rate_limited); }
  void unauthenticated() { change(&request_counts::unauthenticated); }
  request_counts counts() const;

private:
  void change(std::uint64_t request_counts::*which);

  mutable std::mutex mutex_;
  request_counts counts_;
};

} // namespace troupe::server
