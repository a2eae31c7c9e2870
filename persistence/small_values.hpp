// The small values of one version share a record: on its own each would be mostly key and header.
#pragma once

#include "persistence/thread_keys.hpp"
#include "persistence/value_base.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

inline constexpr std::size_t small_value_bytes_max = 64;
static_assert(small_value_bytes_max < patch_base_bytes_min); // patches build on records of values

/// A channel's small value, as msgpack. Owns: nothing.
struct small_value {
  std::uint32_t channel = 0;
  std::string_view bytes;
};

/// Makes each change in its channel's place: without bytes it takes what is there away.
/// Order:  `there` by channel, before and after.
void change_small_values(std::vector<small_value>& there, std::span<const small_value> changes);

/// Shape:  FORMAT.md, "Small values".
void append_small_values(std::span<const small_value> values, std::string& out);

/// Order:  by channel; `values` is empty before. Errors: checkpoint_corrupt.
result<void> read_small_values(std::string_view payload, std::vector<small_value>& values);

/// A value as it is stored. Owns: nothing.
struct stored_value {
  bool is_small = false;
  std::string_view bytes; // msgpack of a small one; else the record
};

/// Looks values up in one transaction, while nothing is written in it. Channels that moved together
/// are asked for together: it keeps the small values it read last.
/// Thread: one at a time.
class value_finder {
public:
  explicit value_finder(thread_records& records) : records_{records}, at_{records.txn()} {}

  /// The value of a channel at a version, wherever it is; valid until the next call.
  /// Errors: as thread_records::open, storage_failed.
  result<std::optional<stored_value>> find(std::uint64_t chain, const version& at,
                                           std::uint32_t channel);

private:
  result<void> read(std::uint64_t chain, const version& at);

  thread_records& records_;
  lmdb_cursor at_;
  std::optional<std::pair<std::uint64_t, version>> of_; // what is known:
  std::vector<small_value> values_;
  std::string text_;        // of them, when their record is not plain
  bool has_others_ = false; // there are values with a record each
};

} // namespace troupe
