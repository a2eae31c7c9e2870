// The rules of all caches.
#pragma once

#include <troupe/node_cache.hpp>

namespace troupe {

/// Whether a value can be cached under this key. Errors: invalid_value, which names the bound.
result<void> check_cache_key(const cache_key& key);

/// Whether a value that ends at `until` has expired.
inline bool has_run_out(const std::optional<node_cache::clock::time_point>& until,
                        node_cache::clock::time_point now) noexcept {
  return until && *until <= now;
}

} // namespace troupe
