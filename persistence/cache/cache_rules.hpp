// The rules every cache keeps.
#pragma once

#include <troupe/node_cache.hpp>

namespace troupe {

/// Whether something can be cached there. Errors: invalid_value, which names the bound.
result<void> check_cache_key(const cache_key& key);

/// Whether a value that ends at `until` has run out.
inline bool has_run_out(const std::optional<node_cache::clock::time_point>& until,
                        node_cache::clock::time_point now) noexcept {
  return until && *until <= now;
}

} // namespace troupe
