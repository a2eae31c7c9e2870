// The node cache: keeps the writes of nodes and tasks by their input.
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

/// The place of a cached value.
/// Shape:  `space`: parts, at least one, beginning with "node" or "task"; `key`: any bytes, usually
///         a hash.
/// Units:  both together at most limits::cache_key_bytes_max bytes; a part counts one more.
struct cache_key {
  std::vector<std::string> space;
  std::string key;
  friend auto operator<=>(const cache_key&, const cache_key&) = default;
};

/// Keeps values for a time. All members may be called from any thread at once and may block. A
/// cache may lose a value at any moment, but returns only values equal to those that were set.
/// Source: langgraph/cache/base, BaseCache.
class node_cache {
public:
  using clock = std::chrono::system_clock;
  virtual ~node_cache() = default;

  /// The value under `key` unless it has expired at `now` (`now` is before its `until`); else
  /// nothing. A value expired at any `now` given so far may be removed.
  /// Errors: storage codes; checkpoint_corrupt for a damaged file (a damaged value is removed
  ///         instead); invalid_value for a malformed key: see cache_key.
  virtual result<std::optional<value>> get(const cache_key& key, clock::time_point now) = 0;
  /// Keeps `v` until `until`; nullopt: without expiry. Replaces an existing value. A full cache
  /// removes values that expired at the last `now` of get() first, then those set first.
  /// Errors: as get(); invalid_value also for a value that is too large or too deep. The former
  ///         value may then be removed.
  virtual result<void> set(const cache_key& key, const value& v,
                           std::optional<clock::time_point> until) = 0;
  /// Removes everything at or below a space (whole parts are compared); an empty one means
  /// everything.
  /// Errors: as get(), without invalid_value.
  virtual result<void> clear(const std::vector<std::string>& space) = 0;
};

/// A cache in memory. The cache takes values of any size and depth.
/// Units:  `entries_max` values.
/// Source: langgraph/cache/memory, InMemoryCache.
std::shared_ptr<node_cache>
make_memory_cache(std::size_t entries_max = limits::memory_cache_entries_max);

/// The options of open_lmdb_cache.
/// Units:  `file_bytes_max` bounds the size of the file, at least limits::cache_file_bytes_min.
///         About half of it is for values. One value may take an eighth, measured before
///         compression.
struct lmdb_cache_options {
  std::size_t file_bytes_max = limits::cache_file_bytes_default;
  /// With a key ring, values and the bytes of keys that are set from now on are encrypted
  /// (AES-256-GCM), under one data key of the file. Spaces (names of graphs and nodes), hashes of
  /// keys, sizes and expiry times stay plain. Older plain values stay plain.
  std::shared_ptr<const troupe::keyring> keyring = nullptr;
  /// Values of at least this many bytes are compressed (zstd); SIZE_MAX: never.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
};

/// The cache in the data directory `dir`, beside a saver's files; created when missing. The cache
/// outlives the process. One cache a directory and process, with the options of the first opening;
/// several processes may share a directory. get() reads, set() and clear() wait for the disk.
/// Errors: as open_lmdb_saver, also invalid_config when this process has it open with other keys.
///         get() and set() also give key_missing, for values whose key is not in the ring. Clearing
///         everything needs no key, and drops the missing one.
/// Source: troupe; persistence/FORMAT.md, "Cache".
result<std::shared_ptr<node_cache>> open_lmdb_cache(const std::filesystem::path& dir,
                                                    lmdb_cache_options options = {});

} // namespace troupe
