// jwks_cache: keys of tokens that come from elsewhere, kept for a while.
#pragma once

#include "server/auth/jwt.hpp"

#include <troupe/server/limits.hpp>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::server {

/// Fetches the keys when they are older than limits::server_jwks_kept, and for a token of an
/// unknown key; the latter at most once in limits::server_jwks_retry, since anybody can send such
/// tokens. A failed fetch leaves the keys before, and is tried again after the same time. Thread:
/// any. One fetches, and others use the keys before; they wait for the first ones.
class jwks_cache {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using key_list = std::shared_ptr<const std::vector<jwt_key>>;

  /// `fetch` gives the text of the set. `report` gets a line when a fetch fails.
  jwks_cache(std::function<result<std::string>()> fetch,
             std::function<void(const std::string&)> report);

  /// Keys for a token with this key id; empty ones when none could be fetched.
  /// Blocks: until an answer of `fetch`.
  key_list keys_for(const std::string& id, time_point now);

private:
  bool is_due(const std::string& id, time_point now) const;
  void fetch_keys(time_point now);

  const std::function<result<std::string>()> fetch_;
  const std::function<void(const std::string&)> report_;
  std::mutex fetching_; // before the other
  mutable std::mutex mutex_;
  key_list keys_; // under the mutex, as the next
  time_point fetched_{};
  std::optional<time_point> tried_;
};

} // namespace troupe::server
