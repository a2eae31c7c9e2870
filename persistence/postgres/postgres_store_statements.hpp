// postgres_store_statements: the SQL of the Postgres store. FORMAT.md, "Postgres", explains the
// columns.
#pragma once

#include "persistence/postgres/postgres_statements.hpp"

#include <string_view>

namespace troupe {

/// One set for a schema. A namespace is its bytes (namespace_bytes).
struct postgres_store_statements : postgres_transactions {
  explicit postgres_store_statements(std::string_view schema);

  // ---- reading. An "item" statement gives rows of postgres_item_column.
  postgres_statement last_number;
  postgres_statement data_key;      // → key id, data key; null: a plain store
  postgres_statement find;          // namespace, key → item
  postgres_statement find_numbers;  // numbers → item, place among the numbers
  postgres_statement missing;       // numbers → those without an item
  postgres_statement page;          // first namespace, first key in it, end → items in order, and
                                    // how many there are but for their size
  postgres_statement namespaces;    // now → those with an item that is not over
  postgres_statement groups;        // first, end → numbers of namespaces
  postgres_statement vectors_after; // number, place, sizes of a vector, how many → number, place,
                                    // group, vector

  // ---- changing; statements that remove items return their numbers
  postgres_statement lock;         // → the last number given, key id, data key; until the
                                   // transaction ends
  postgres_statement set_last;     // number
  postgres_statement set_data_key; // key id, data key
  postgres_statement put;          // namespace, its number if it is new, key, number, value, now,
                                   // time to live, end, vectors
  postgres_statement remove;       // namespace, key
  postgres_statement refresh;      // number, now, end
  postgres_statement sweep;        // now, how many → number, namespace's number
  postgres_statement erase_space;  // namespace, if it is empty
  postgres_statement erase_spaces; // numbers of namespaces; those that are empty

  postgres_statement swap_data_key; // old data key, key id, data key → a row if it had it
};

enum postgres_item_column : int {
  path_column,
  key_column,
  item_number_column,
  value_column,
  created_column,
  updated_at_column,
  ttl_column,
  end_column,
  extra_column, // of the statement
};

} // namespace troupe
