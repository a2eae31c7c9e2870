// rate_limiter: how many requests a caller may send. Pure: time is an argument.
#pragma once

#include <troupe/server/limits.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

namespace troupe::server {

/// Shape:  `per_second` 0 allows any number. `burst`: requests at once after a pause; at least 1.
struct rate_options {
  double per_second = 0;
  double burst = 1;
};

/// A bucket of tokens for each caller. A caller without a bucket has a full one.
/// Thread: one at a time.
class rate_limiter {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit rate_limiter(rate_options options,
                        std::size_t callers_max = limits::server_rated_callers_max);

  /// Takes a token. nullopt: the request may go on. Otherwise the time until there is a token,
  /// rounded up, at least 1 s. `now` never goes back.
  std::optional<std::chrono::seconds> take(const std::string& caller, time_point now);

private:
  struct bucket {
    double tokens;
    time_point at;
    std::list<std::string>::iterator place;
  };
  void drop_oldest();

  const rate_options options_;
  const std::size_t callers_max_;
  std::unordered_map<std::string, bucket> buckets_;
  std::list<std::string> by_use_; // the one used last is in front
};

} // namespace troupe::server
