// The node cache: keeps the writes of nodes and tasks by their input.
#pragma once

#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The place of a cached value.
/// Shape:  `space`: at least one part, the first of which is "node" or "task". `key`: any bytes,
///         usually a hash.
/// Units:  both together at most limits::cache_key_bytes_max bytes; a part counts one more.
/// Errors: see node_cache::get.
/// Source: langgraph/cache/base, FullKey.
struct cache_key {
  std::vector<std::string> space;
  std::string key;
  friend bool operator==(const cache_key& a, const cache_key& b) noexcept;
  friend std::strong_ordering operator<=>(const cache_key& a, const cache_key& b) noexcept;
};

/// Keeps values for a time. All members may be called from any thread at once and may block. A
/// cache may lose a value at any moment, but returns only values equal to those that were set.
/// Errors: see the members.
/// Source: langgraph/cache/base, BaseCache.
class node_cache {
public:
  using clock = std::chrono::system_clock;
  virtual ~node_cache() = default;

  /// The value under `key`, unless it has expired: it is valid while `now` is before its `until`.
  /// Nothing when the value is missing or expired. A value that was expired at the `now` of any
  /// call may be removed.
  /// Errors: storage codes; checkpoint_corrupt for a damaged file, while a damaged value is only
  ///         removed. invalid_value for a malformed key (see cache_key).
  /// Source: langgraph/cache/base, BaseCache.get.
  virtual result<std::optional<value>> get(const cache_key& key, clock::time_point now) = 0;
  /// Keeps `v` until `until`, or without expiry. Replaces an existing value. A full cache first
  /// removes values that expired at the last `now` of get(), then those that were set first.
  /// Errors: as get(); invalid_value also for a value that is too large or too deep. The former
  ///         value may then be removed.
  /// Source: langgraph/cache/base, BaseCache.set.
  virtual result<void> set(const cache_key& key, const value& v,
                           std::optional<clock::time_point> until) = 0;
  /// Removes everything at or below a space; whole parts are compared. An empty space means
  /// everything.
  /// Errors: as get(), without invalid_value.
  /// Source: langgraph/cache/base, BaseCache.clear.
  virtual result<void> clear(const std::vector<std::string>& space) = 0;
};

/// A cache in memory. The cache takes values of any size and depth.
/// Units:  `entries_max` values.
/// Errors: none.
/// Source: langgraph/cache/memory, InMemoryCache.
std::shared_ptr<node_cache>
make_memory_cache(std::size_t entries_max = limits::memory_cache_entries_max);

/// The options of open_lmdb_cache.
/// Units:  `file_bytes_max` bounds the size of the file, at least limits::cache_file_bytes_min.
///         About half of it is for values. One value may take an eighth, measured before
///         compression.
/// Errors: see open_lmdb_cache.
/// Source: troupe.
struct lmdb_cache_options {
  std::size_t file_bytes_max = limits::cache_file_bytes_default;
  /// With a key ring or another provider, new values and the bytes of their keys are encrypted
  /// (AES-256-GCM), under one data key of the file. Spaces (names of graphs and nodes), hashes of
  /// keys, sizes and expiry times stay plain. Older plain values stay plain.
  std::shared_ptr<const key_provider> keyring = nullptr;
  /// Values of at least this many bytes are compressed (zstd); SIZE_MAX: never.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
};

/// The cache in the data directory `dir`, beside a saver's files; created when missing. The cache
/// outlives the process. A process has one cache a directory, with the options of the first
/// opening. Several processes may share a directory. get() reads; set() and clear() wait for the
/// disk.
/// Errors: as open_lmdb_saver; also invalid_config when this process has it open with other keys.
///         get() and set() also give key_missing, for values whose key is not in the ring. Clearing
///         everything needs no key, and drops the missing one.
/// Source: troupe; persistence/FORMAT.md, "Cache".
result<std::shared_ptr<node_cache>> open_lmdb_cache(const std::string& dir,
                                                    lmdb_cache_options options = {});

} // namespace troupe
