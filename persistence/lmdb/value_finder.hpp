// Where the value of a channel at a version is: with the small ones, alone, or nowhere.
#pragma once

#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/record/small_values.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

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
