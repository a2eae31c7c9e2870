// The cache of nodes and tasks: what they wrote for an input they had before.
#pragma once

#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Where a cached value is.
/// Shape:  `space` "node or task" parts, at least one; `key` any bytes, a hash as a rule.
/// Units:  both together at most limits::cache_key_bytes_max bytes, a part counting one more.
struct cache_key {
  std::vector<std::string> space;
  std::string key;
  friend auto operator<=>(const cache_key&, const cache_key&) = default;
};

/// Keeps values for a time. All members may be called from any thread at once and may block. It may
/// forget a value at any moment, and gives none that differs from what was set.
/// Source: langgraph/cache/base, BaseCache.
class node_cache {
public:
  using clock = std::chrono::system_clock;
  virtual ~node_cache() = default;

  /// The value under `key` if it has not run out at `now` (`now` is before its `until`), or
  /// nothing. What ran out at a `now` that was given may be forgotten.
  /// Errors: storage codes, checkpoint_corrupt (the file as a whole; a value that is damaged is
  ///         forgotten), invalid_value (no key: see there).
  virtual result<std::optional<value>> get(const cache_key& key, clock::time_point now) = 0;
  /// Keeps `v` until `until`; nullopt: for good. One that is there is replaced. When the cache is
  /// full, what ran out at the last `now` given to get() goes first, then what was set first.
  /// Errors: as get(); invalid_value also for a value that is too large or too deep. What was
  ///         there stays or is forgotten.
  virtual result<void> set(const cache_key& key, const value& v,
                           std::optional<clock::time_point> until) = 0;
  /// Forgets everything at or under a space (parts compare whole); under an empty one all there is.
  /// Errors: as get(), without invalid_value.
  virtual result<void> clear(const std::vector<std::string>& space) = 0;
};

/// A cache in memory. It takes values of any size and depth.
/// Units:  `entries_max` values.
/// Source: langgraph/cache/memory, InMemoryCache.
std::shared_ptr<node_cache>
make_memory_cache(std::size_t entries_max = limits::memory_cache_entries_max);

/// Units:  `file_bytes_max` what the file may grow to, at least limits::cache_file_bytes_min. About
///         half of it is for values, and one may take an eighth, as large as they are before they
///         are compressed.
struct lmdb_cache_options {
  std::size_t file_bytes_max = limits::cache_file_bytes_default;
  /// With a ring, values and the bytes of keys that are set from now on are encrypted
  /// (AES-256-GCM), under one data key of the file. Not encrypted are spaces (names of graphs and
  /// nodes), hashes of keys, sizes, and when values end. What is in plain stays so.
  std::shared_ptr<const troupe::keyring> keyring = nullptr;
  /// Values of at least so many bytes are compressed (zstd); SIZE_MAX: none is.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
};

/// The cache in the data directory `dir`, beside a saver's files; made when missing. It outlives
/// the process. One a directory and process, with the options of the first; several processes may
/// share a directory. get() reads, set() and clear() wait for the disk.
/// Errors: as open_lmdb_saver, also invalid_config when this process has it open without these
///         keys. Of get() and set() also key_missing, for values of a key that is not in the ring:
///         to clear all goes without, and forgets that key.
/// Source: troupe; persistence/FORMAT.md, "Cache".
result<std::shared_ptr<node_cache>> open_lmdb_cache(const std::filesystem::path& dir,
                                                    lmdb_cache_options options = {});

} // namespace troupe
