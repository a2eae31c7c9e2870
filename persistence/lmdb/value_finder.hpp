// value_finder: finds the value of a channel at a version, among the small values or in its own
// record.
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

/// A stored value. Owns: nothing.
struct stored_value {
  bool is_small = false;
  std::string_view bytes; // msgpack of a small value, or else the record
};

/// Looks values up in one transaction, while nothing is written in it. Keeps the small values that
/// were read last, since channels that moved together are looked up together.
/// Thread: one at a time.
class value_finder {
public:
  explicit value_finder(thread_records& records) : records_{records}, at_{records.txn()} {}

  /// The value of a channel at a version, valid until the next call; nullopt: empty.
  /// Errors: as thread_records::open, storage_failed.
  result<std::optional<stored_value>> find(std::uint64_t chain, const version& at,
                                           std::uint32_t channel);

private:
  result<void> read(std::uint64_t chain, const version& at);

  thread_records& records_;
  lmdb_cursor at_;
  std::optional<std::pair<std::uint64_t, version>> of_; // chain and version of the members below
  std::vector<small_value> values_;
  std::string text_;        // bytes of values_, when their record is not plain
  bool has_others_ = false; // the version has values with their own records
};

} // namespace troupe
