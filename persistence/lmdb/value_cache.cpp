// value_cache: finding and keeping decoded values.
#include "persistence/lmdb/value_cache.hpp"

namespace troupe {

std::optional<value_cache::entry> value_cache::find(const place& of) const {
  std::scoped_lock lock{mutex_};
  auto known = entries_.find(of);
  return known == entries_.end() ? std::nullopt : std::optional{known->second};
}

void value_cache::keep(const place& of, entry decoded) {
  if (decoded.bytes > bytes_max_)
    return;
  std::map<place, entry> forgotten; // destroyed after the lock is released
  std::scoped_lock lock{mutex_};
  if (auto known = entries_.find(of); known != entries_.end()) {
    bytes_ -= known->second.bytes;
    std::swap(known->second, decoded);
    bytes_ += known->second.bytes;
  } else {
    bytes_ += decoded.bytes;
    entries_.emplace(of, std::move(decoded));
  }
  if (bytes_ <= bytes_max_)
    return;
  auto newest = entries_.extract(of);
  entries_.swap(forgotten);
  bytes_ = newest.mapped().bytes;
  entries_.insert(std::move(newest));
}

} // namespace troupe
