// jwks_cache: when to fetch.
#include "server/auth/jwks_cache.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

jwks_cache::jwks_cache(std::function<result<std::string>()> fetch,
                       std::function<void(const std::string&)> report)
  : fetch_{std::move(fetch)},
    report_{std::move(report)},
    keys_{std::make_shared<const std::vector<jwt_key>>()} {}

bool jwks_cache::is_due(const std::string& id, time_point now) const {
  std::scoped_lock lock{mutex_};
  if (tried_ && now - *tried_ < limits::server_jwks_retry)
    return false;
  if (keys_->empty() || now - fetched_ >= limits::server_jwks_kept)
    return true;
  auto fits = [&id](const jwt_key& key) { return key.id.empty() || key.id == id; };
  return !id.empty() && std::ranges::none_of(*keys_, fits);
}

void jwks_cache::fetch_keys(time_point now) {
  {
    std::scoped_lock lock{mutex_};
    tried_ = now;
  }
  auto text = fetch_();
  auto read = text ? read_jwks(*text) : result<std::vector<jwt_key>>{text.error()};
  if (!read) {
    if (report_)
      report_("fetch the keys of tokens: " + read.error().message());
    return;
  }
  std::scoped_lock lock{mutex_};
  keys_ = std::make_shared<const std::vector<jwt_key>>(std::move(*read));
  fetched_ = now;
}

jwks_cache::key_list jwks_cache::keys_for(const std::string& id, time_point now) {
  auto known = [this] {
    std::scoped_lock lock{mutex_};
    return keys_;
  };
  if (is_due(id, now)) {
    std::unique_lock turn{fetching_, std::try_to_lock};
    if (!turn && known()->empty())
      turn.lock();
    if (turn && is_due(id, now))
      fetch_keys(now);
  } else if (known()->empty()) {
    std::scoped_lock turn{fetching_}; // the first fetch may be under way
  }
  return known();
}

} // namespace troupe::server
