// postgres_store_statements: the texts of the statements.
#include "persistence/postgres/postgres_store_statements.hpp"

#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/record/timestamp_text.hpp"

#include <string>

namespace troupe {

namespace {

constexpr std::string_view item_columns =
  "s.path, i.key, i.number, i.value, i.created, i.updated, i.ttl, i.ends";

// Items in order from ($1, $2) on. Each namespace gives at most the wanted number, so only the
// given items are sorted. Only the first items of a page of large values are sent.
std::string page_of_items() {
  auto rows = std::to_string(limits::postgres_rows_fetched);
  auto bytes = std::to_string(limits::postgres_statement_bytes_max);
  return "SELECT path, key, number, value, created, updated, ttl, ends, found FROM "
         "(SELECT q.*, count(*) OVER () AS found, coalesce(sum(octet_length(q.value)) OVER "
         "(ORDER BY q.path, q.key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before "
         "FROM (SELECT s.path, i.* FROM @.store_spaces s CROSS JOIN LATERAL "
         "(SELECT * FROM @.store_items i WHERE i.space = s.space "
         "AND i.key >= CASE WHEN s.path = $1::bytea THEN $2::bytea ELSE ''::bytea END "
         "ORDER BY i.key LIMIT "
         + rows
         + ") i WHERE s.path >= $1::bytea AND s.path < $3::bytea ORDER BY s.path, i.key LIMIT "
         + rows + ") q) r WHERE r.before < " + bytes + " ORDER BY path, key";
}

// One statement, so that a batch can be sent at once. `old` is the item that it replaces, which may
// be damaged.
std::string put_item() {
  auto min = std::to_string(timestamp_micros_min);
  auto max = std::to_string(timestamp_micros_max);
  return "WITH made AS (INSERT INTO @.store_spaces (path, space) VALUES ($1::bytea, $2::int8) "
         "ON CONFLICT (path) DO NOTHING RETURNING space), "
         "here AS MATERIALIZED (SELECT space FROM made UNION ALL "
         "SELECT space FROM @.store_spaces WHERE path = $1::bytea), "
         "old AS MATERIALIZED (SELECT i.number, i.created, i.ends FROM here "
         "JOIN @.store_items i ON i.space = here.space AND i.key = $3::bytea), "
         "unranked AS (DELETE FROM @.store_vectors "
         "WHERE number = ANY (ARRAY(SELECT number FROM old))), "
         "ranked AS (INSERT INTO @.store_vectors (number, place, space, vector) "
         "SELECT $4::int8, e.place, here.space, e.vector FROM here CROSS JOIN "
         "unnest($9::bytea[]) WITH ORDINALITY AS e(vector, place)), "
         "stored AS (INSERT INTO @.store_items (space, key, number, value, created, updated, ttl, "
         "ends) SELECT here.space, $3::bytea, $4::int8, $5::bytea, "
         "coalesce((SELECT created FROM old WHERE ends > $6::int8 AND created BETWEEN "
         + min + " AND " + max
         + "), $6::int8), $6::int8, $7::int8, $8::int8 FROM here ON CONFLICT (space, key) "
           "DO UPDATE SET number = excluded.number, value = excluded.value, "
           "created = excluded.created, updated = excluded.updated, ttl = excluded.ttl, "
           "ends = excluded.ends) SELECT number FROM old";
}

// Deletes the items that `which` names, with their vectors.
std::string erase_items(std::string_view which) {
  return "WITH gone AS (DELETE FROM @.store_items i USING " + std::string{which}
         + " RETURNING i.number, i.space), unranked AS (DELETE FROM @.store_vectors "
           "WHERE number = ANY (ARRAY(SELECT number FROM gone))) SELECT number, space FROM gone";
}

// One look at the index for each namespace, whatever the planner knows of the table.
std::string an_item(std::string_view condition) {
  return "(SELECT 1 FROM @.store_items i WHERE i.space = s.space" + std::string{condition}
         + " LIMIT 1)";
}

} // namespace

postgres_store_statements::postgres_store_statements(std::string_view schema) {
  auto sql = [schema](std::string_view text) {
    return postgres_statement{in_schema(text, schema)};
  };
  const std::string items{item_columns};
  const std::string no_end = std::to_string(INT64_MAX); // the value that the index on ends
                                                        // excludes

  last_number = sql("SELECT last FROM @.store_state");
  data_key = sql("SELECT key_id, data_key FROM @.store_state");
  find = sql("SELECT " + items
             + " FROM @.store_spaces s JOIN @.store_items i ON i.space = s.space "
               "WHERE s.path = $1::bytea AND i.key = $2::bytea");
  find_numbers = sql("SELECT " + items
                     + ", e.place FROM unnest($1::int8[]) WITH ORDINALITY "
                       "AS e(number, place) JOIN @.store_items i ON i.number = e.number "
                       "JOIN @.store_spaces s ON s.space = i.space");
  missing = sql("SELECT e.number FROM unnest($1::int8[]) AS e(number) WHERE NOT EXISTS "
                "(SELECT 1 FROM @.store_items i WHERE i.number = e.number)");
  page = sql(page_of_items());
  namespaces = sql("SELECT s.path FROM @.store_spaces s WHERE " + an_item(" AND i.ends > $1::int8")
                   + " IS NOT NULL");
  groups = sql("SELECT space FROM @.store_spaces WHERE path >= $1::bytea AND path < $2::bytea");
  vectors_after = sql(
    "SELECT number, place, space, vector FROM @.store_vectors "
    "WHERE (number, place) > ($1::int8, $2::int8) "
    "AND octet_length(vector) = ANY ($3::int8[]) ORDER BY number, place LIMIT $4::int8");

  lock = sql("SELECT greatest(last, (extract(epoch FROM clock_timestamp()) * 1000000)::int8), "
             "key_id, data_key FROM @.store_state FOR UPDATE");
  set_data_key = sql("UPDATE @.store_state SET key_id = $1::bytea, data_key = $2::bytea");
  swap_data_key = sql("UPDATE @.store_state SET key_id = $2::bytea, data_key = $3::bytea "
                      "WHERE data_key = $1::bytea RETURNING last");
  set_last = sql("UPDATE @.store_state SET last = $1::int8");
  put = sql(put_item());
  remove = sql(erase_items("@.store_spaces s WHERE s.path = $1::bytea AND i.space = s.space "
                           "AND i.key = $2::bytea"));
  refresh = sql("UPDATE @.store_items SET ends = $3::int8 WHERE number = $1::int8 "
                "AND ends > $2::int8");
  sweep =
    sql(erase_items("(SELECT o.number FROM @.store_items o WHERE o.ends <= $1::int8 "
                    "AND o.ends < "
                    + no_end + " ORDER BY o.ends LIMIT $2::int8) o WHERE i.number = o.number"));
  auto erase_empty = [&sql](std::string_view which) {
    return sql("DELETE FROM @.store_spaces s WHERE " + std::string{which} + " AND " + an_item("")
               + " IS NULL");
  };
  erase_space = erase_empty("s.path = $1::bytea");
  erase_spaces = erase_empty("s.space = ANY ($1::int8[])");
}

} // namespace troupe
