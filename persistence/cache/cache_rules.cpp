// The rules of all caches.
#include "persistence/cache/cache_rules.hpp"

namespace troupe {

bool operator==(const cache_key& a, const cache_key& b) noexcept = default;
std::strong_ordering operator<=>(const cache_key& a, const cache_key& b) noexcept = default;

result<void> check_cache_key(const cache_key& key) {
  if (key.space.empty())
    return troupe::error{errc::invalid_value, "address a cached value: its space has no part"};
  auto size = key.key.size();
  for (const auto& part : key.space)
    size += part.size() + 1;
  if (size > limits::cache_key_bytes_max)
    return troupe::error{errc::invalid_value,
                         "address a cached value: its key is too long: " + std::to_string(size)
                           + " bytes, at most " + std::to_string(limits::cache_key_bytes_max)};
  return {};
}

} // namespace troupe
