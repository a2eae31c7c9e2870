// postgres_cache_statements: the SQL of the Postgres cache. FORMAT.md, "Postgres", explains the
// columns.
#pragma once

#include "persistence/postgres/postgres_statements.hpp"

#include <string_view>

namespace troupe {

/// One set for a schema. A statement that changes entries also counts them in their shards, whose
/// rows its transaction has locked before. A removal returns how many entries it removed.
struct postgres_cache_statements : postgres_transactions {
  explicit postgres_cache_statements(std::string_view schema);

  postgres_statement get;  // id → postgres_cache_column
  postgres_statement size; // → the sum of the shards
  postgres_statement last; // → the newest number, or 0

  postgres_statement lock_shard; // shard
  postgres_statement lock;       // all shards
  postgres_statement set;        // id, shard, space, place, value, end, bytes
  postgres_statement forget;     // id, number
  postgres_statement shrink;     // now, largest sum, sum to reach
  postgres_statement clear;      // first space, end, largest number
  postgres_statement clear_all;  // largest number
};

enum postgres_cache_column : int {
  entry_place_column,
  entry_value_column,
  entry_end_column,
  entry_number_column,
};

} // namespace troupe
