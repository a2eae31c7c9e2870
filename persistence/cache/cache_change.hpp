// cache_change: changes a cache's file, inside one write transaction.
//
// Invariants, unless the file is damaged:
//  - An entry has one age record of its number and, if it has an end, one end record.
//  - The meta record's `charged_bytes` is the sum of the charges of the age records.
// A damaged entry counts as missing and stays until its age comes. When the meta record or the
// index is damaged, the cache starts over, empty.
#pragma once

#include "persistence/cache/cache_format.hpp"
#include "persistence/lmdb/file_change.hpp"

namespace troupe {

/// How the records of a cache's file are sealed.
file_sealing cache_sealing(std::shared_ptr<const key_provider> keys,
                           std::size_t compress_bytes_min);

/// One change of the cache.
/// Thread: one at a time.
/// Errors: of all members storage codes; checkpoint_corrupt for a file that LMDB can't read. Only
///         set() needs the key of an encrypted cache.
class cache_change final : public file_change {
public:
  std::uint64_t charged_bytes() const noexcept { return meta_.charged_bytes; }

  /// Stores an encoded value under a place, and replaces the value there. Before that, removes
  /// entries that expired by `now`, then the oldest ones, until the sum of charges is at most
  /// `charged_bytes_max`.
  result<void> set(const cache_key& place, std::string_view encoded,
                   const std::optional<cache_time>& until, cache_time now,
                   std::uint64_t charged_bytes_max);
  /// The charge of a value.
  static std::uint64_t charge_of(const cache_key& place, std::string_view encoded);
  /// Removes entries until the sum of charges is at most this.
  result<void> shrink(std::uint64_t charged_bytes_max, cache_time now);
  /// Removes the entries at or under a space. An empty space removes all entries and the data key.
  result<void> clear(const std::vector<std::string>& space);
  /// Removes the entry under this key if it is damaged.
  result<void> forget_damaged(const store_key& entry_key);

  /// Nothing is written when nothing was changed.
  result<void> commit();

private:
  friend class file_change;
  using file_change::file_change;

  result<void> load(const result<std::string_view>& payload);
  result<void> seal_entry(const cache_entry& entry, const store_key& key);
  result<cache_entry> open_entry(std::string_view stored, std::string_view key);
  result<void> start_over();
  result<void> erase_all();
  result<void> start_over_after(const troupe::error& failure);
  result<bool> forget_first(cache_time now);
  result<std::optional<cache_end>> first_end();
  result<std::optional<std::uint64_t>> first_age();
  result<void> forget(std::uint64_t number);
  result<void> forget_entry(const std::string& entry_key, std::uint64_t number);
  result<void> forget_replaced(const store_key& entry_key);

  cache_meta meta_;
};

} // namespace troupe
