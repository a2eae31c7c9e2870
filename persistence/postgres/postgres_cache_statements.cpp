// postgres_cache_statements: the texts of the statements.
#include "persistence/postgres/postgres_cache_statements.hpp"

#include "persistence/postgres/postgres_schema.hpp"

#include <troupe/limits.hpp>

#include <string>

namespace troupe {

namespace {

// `old` is the entry that the new one replaces. The new one gets a new number.
constexpr std::string_view set_entry =
  "WITH old AS (SELECT bytes FROM @.cache_entries WHERE id = $1::bytea), "
  "stored AS (INSERT INTO @.cache_entries (id, shard, space, place, value, ends, bytes) "
  "VALUES ($1::bytea, $2::int8, $3::bytea, $4::bytea, $5::bytea, $6::int8, $7::int8) "
  "ON CONFLICT (id) DO UPDATE SET number = excluded.number, space = excluded.space, "
  "place = excluded.place, value = excluded.value, ends = excluded.ends, bytes = excluded.bytes) "
  "UPDATE @.cache_shards SET bytes = bytes + $7::int8 - coalesce((SELECT bytes FROM old), 0) "
  "WHERE shard = $2::int8";

// Removes the entries that `which` names by their numbers.
std::string remove_entries(std::string_view which) {
  return "WITH gone AS (DELETE FROM @.cache_entries WHERE number = ANY (ARRAY(" + std::string{which}
         + ")) RETURNING shard, bytes), counted AS (UPDATE @.cache_shards s "
           "SET bytes = s.bytes - g.bytes FROM (SELECT shard, sum(bytes)::int8 AS bytes FROM gone "
           "GROUP BY shard) g WHERE g.shard = s.shard) SELECT count(*)::int8 FROM gone";
}

// Expired entries in the order of their ends, then the others in the order of their numbers, until
// enough bytes are free.
std::string entries_beyond(const std::string& count) {
  return "SELECT number FROM (SELECT number, sum(bytes) OVER (ORDER BY turn, at, number) - bytes "
         "AS before FROM ((SELECT number, bytes, 0 AS turn, ends AS at FROM @.cache_entries "
         "WHERE ends <= $1::int8 ORDER BY ends, number LIMIT "
         + count
         + ") UNION ALL (SELECT number, bytes, 1, number FROM @.cache_entries "
           "WHERE ends IS NULL OR ends > $1::int8 ORDER BY number LIMIT "
         + count
         + ")) candidates) turns WHERE before < (SELECT CASE WHEN sum(bytes) > $2::int8 "
           "THEN sum(bytes) - $3::int8 ELSE 0 END FROM @.cache_shards) ORDER BY before LIMIT "
         + count;
}

} // namespace

postgres_cache_statements::postgres_cache_statements(std::string_view schema) {
  auto sql = [schema](std::string_view text) {
    return postgres_statement{in_schema(text, schema)};
  };
  const auto count = std::to_string(limits::postgres_cache_removed_max);

  get = sql("SELECT place, value, ends, number FROM @.cache_entries WHERE id = $1::bytea");
  size = sql("SELECT coalesce(sum(bytes), 0)::int8 FROM @.cache_shards");
  last = sql("SELECT coalesce(max(number), 0)::int8 FROM @.cache_entries");

  lock_shard = sql("SELECT bytes FROM @.cache_shards WHERE shard = $1::int8 FOR UPDATE");
  lock = sql("SELECT bytes FROM @.cache_shards ORDER BY shard FOR UPDATE");
  set = sql(set_entry);
  forget = sql(remove_entries("SELECT number FROM @.cache_entries WHERE id = $1::bytea "
                              "AND number = $2::int8"));
  shrink = sql(remove_entries(entries_beyond(count)));
  // The index has the beginnings of spaces, which sort as the spaces do.
  clear = sql(remove_entries("SELECT number FROM @.cache_entries WHERE substr(space, 1, 256) "
                             "BETWEEN substr($1::bytea, 1, 256) AND substr($2::bytea, 1, 256) "
                             "AND space >= $1::bytea AND space < $2::bytea "
                             "AND number <= $3::int8 LIMIT "
                             + count));
  clear_all = sql(remove_entries("SELECT number FROM @.cache_entries WHERE number <= $1::int8 "
                                 "ORDER BY number LIMIT "
                                 + count));
}

} // namespace troupe
