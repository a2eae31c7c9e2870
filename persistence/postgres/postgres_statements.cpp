// postgres_statements: the texts of the statements.
#include "persistence/postgres/postgres_statements.hpp"

#include "persistence/postgres/postgres_schema.hpp"

namespace troupe {

namespace {

// The chain of a thread's id, $1, and a namespace, $2.
constexpr std::string_view chain_of_ref =
  "(SELECT c.chain FROM @.threads t JOIN @.chains c ON c.thread = t.thread "
  "WHERE t.thread_id = $1::bytea AND sha256(c.ns) = sha256($2::bytea))";

// Joins the version arrays of a checkpoint, as rows, with the values that are stored for them.
std::string values_of(std::string_view versions) {
  return " JOIN @.channel_values s ON s.chain = " + std::string{versions} + ".chain AND s.number = "
         + std::string{versions} + ".number AND s.tag = " + std::string{versions} + ".tag AND "
         + postgres_key_of("s.channel") + " = "
         + postgres_key_of(std::string{versions} + ".channel");
}

// The rows of postgres_tuple_column for the checkpoints in `found`, which has all of their columns
// and their place.
std::string tuples_of(const std::string& found, std::string_view value_filter = "",
                      std::string_view write_filter = "") {
  return "WITH RECURSIVE found AS MATERIALIZED (" + found
         + ") SELECT 0::int8, f.chain, f.checkpoint_id, f.parent_id, f.metadata, f.v, f.place, "
           "f.ts, f.seen, f.channels, f.numbers, f.tags, f.updated FROM found f "
           "UNION ALL SELECT 1::int8, s.chain, s.channel, NULL, s.value, s.number, s.tag, "
           "NULL, NULL, NULL, NULL, NULL, NULL FROM (SELECT DISTINCT f.chain, e.channel, "
           "e.number, e.tag FROM found f CROSS JOIN LATERAL unnest(f.channels, f.numbers, f.tags) "
           "AS e(channel, number, tag)"
         + std::string{value_filter} + ") w" + values_of("w")
         + " UNION ALL SELECT 2::int8, w.chain, w.checkpoint_id, w.channel, w.value, w.slot, NULL, "
           "w.task_id, w.task_path, NULL, NULL, NULL, NULL FROM found f JOIN @.writes w "
           "ON w.chain = f.chain AND w.checkpoint_id = f.checkpoint_id"
         + std::string{write_filter}
         + " UNION ALL SELECT 3::int8, c.chain, t.key_id, NULL, t.data_key, t.thread, NULL, NULL, "
           "NULL, NULL, NULL, NULL, NULL FROM (SELECT DISTINCT f.chain FROM found f) g "
           "JOIN @.chains c ON c.chain = g.chain JOIN @.threads t ON t.thread = c.thread "
           "WHERE t.key_id IS NOT NULL";
}

// One checkpoint of a reference's chain.
std::string one_tuple(std::string_view which) {
  return tuples_of("SELECT k.*, 0::int8 AS place FROM @.checkpoints k WHERE k.chain = "
                   + std::string{chain_of_ref} + std::string{which});
}

// The channels among `open` without a value at checkpoint k.
std::string still_open(std::string_view open) {
  return "ARRAY(SELECT o.channel FROM unnest(" + std::string{open}
         + ") AS o(channel) WHERE NOT EXISTS (SELECT 1 FROM (SELECT k.chain, e.* FROM "
           "unnest(k.channels, k.numbers, k.tags) AS e(channel, number, tag) "
           "WHERE e.channel = o.channel) w"
         + values_of("w") + "))";
}

// Walks from $2 to its parents. `wanted`: the channels that are looked for at a checkpoint; `open`:
// those that are left for its ancestors. When parents lead in a circle, each checkpoint counts
// once.
std::string walk_up() {
  return tuples_of("WITH RECURSIVE up AS (SELECT k.chain, k.checkpoint_id, k.parent_id, "
                   "1::int8 AS place, $3::bytea[] AS wanted, "
                     + still_open("$3::bytea[]")
                     + " AS open FROM @.checkpoints k WHERE k.chain = $1::int8 "
                       "AND k.checkpoint_id = $2::bytea "
                       "UNION ALL SELECT k.chain, k.checkpoint_id, k.parent_id, up.place + 1, "
                       "up.open, "
                     + still_open("up.open")
                     + " FROM up JOIN @.checkpoints k ON k.chain = up.chain "
                       "AND k.checkpoint_id = up.parent_id "
                       "WHERE up.place < $4::int8 AND cardinality(up.open) > 0) "
                       "SELECT k.*, up.place, up.wanted FROM (SELECT DISTINCT ON (checkpoint_id) * "
                       "FROM up ORDER BY checkpoint_id, place) up JOIN @.checkpoints k "
                       "ON k.chain = up.chain AND k.checkpoint_id = up.checkpoint_id",
                   " WHERE e.channel = ANY (f.wanted)", " WHERE w.channel = ANY (f.wanted)");
}

// The newest checkpoint of each thread: that of the root namespace, else the greatest of any.
constexpr std::string_view all_threads =
  "SELECT t.thread_id, newest.checkpoint_id, newest.ts, (SELECT count(*) FROM @.chains c "
  "JOIN @.checkpoints k ON k.chain = c.chain WHERE c.thread = t.thread)::int8 FROM @.threads t "
  "LEFT JOIN LATERAL (SELECT k.checkpoint_id, k.ts FROM @.chains c CROSS JOIN LATERAL "
  "(SELECT k.checkpoint_id, k.ts FROM @.checkpoints k WHERE k.chain = c.chain "
  "ORDER BY k.checkpoint_id DESC LIMIT 1) k WHERE c.thread = t.thread "
  "ORDER BY (c.ns = ''::bytea) DESC, k.checkpoint_id DESC, c.ns DESC LIMIT 1) newest ON true "
  "ORDER BY t.thread_id";

constexpr std::string_view these_checkpoints =
  " k USING unnest($1::int8[], $2::bytea[]) AS e(chain, id) WHERE k.chain = e.chain "
  "AND k.checkpoint_id = e.id";

constexpr std::string_view of_thread = "(SELECT chain FROM @.chains WHERE thread = $1::int8)";

} // namespace

postgres_statements::postgres_statements(std::string_view schema) {
  auto sql = [schema](std::string_view text) {
    return postgres_statement{in_schema(text, schema)};
  };
  auto erase_of_thread = [&sql](std::string_view table) {
    return sql("DELETE FROM @." + std::string{table} + " WHERE chain IN " + std::string{of_thread});
  };
  auto parent_of = [&sql](std::string_view which) {
    return sql("SELECT k.chain, k.parent_id FROM @.checkpoints k WHERE k.chain = "
               + std::string{chain_of_ref} + std::string{which});
  };
  constexpr std::string_view newest_one = " ORDER BY k.checkpoint_id DESC LIMIT 1";
  constexpr std::string_view this_one = " AND k.checkpoint_id = $3::bytea";

  next_numbers = sql("SELECT nextval($1::text::regclass)");
  lock_threads = sql("SELECT thread_id, thread, owner, key_id, data_key FROM @.threads "
                     "WHERE thread_id = ANY ($1::bytea[]) ORDER BY thread_id FOR NO KEY UPDATE");
  make_threads = sql("INSERT INTO @.threads (thread_id, thread) "
                     "SELECT * FROM unnest($1::bytea[], $2::int8[]) "
                     "ON CONFLICT (thread_id) DO NOTHING RETURNING thread_id, thread");
  find_chains = sql("SELECT e.place, c.chain, k.checkpoint_id, (SELECT n.checkpoint_id "
                    "FROM @.checkpoints n WHERE n.chain = c.chain "
                    "ORDER BY n.checkpoint_id DESC LIMIT 1) FROM "
                    "unnest($1::int8[], $2::bytea[], $3::bytea[]) WITH ORDINALITY "
                    "AS e(thread, ns, checkpoint_id, place) JOIN @.chains c "
                    "ON c.thread = e.thread AND sha256(c.ns) = sha256(e.ns) "
                    "LEFT JOIN @.checkpoints k "
                    "ON k.chain = c.chain AND k.checkpoint_id = e.checkpoint_id");
  make_chain = sql("INSERT INTO @.chains (chain, thread, ns) "
                   "VALUES ($1::int8, $2::int8, $3::bytea)");
  set_owner = sql("UPDATE @.threads SET owner = $2::int8 WHERE thread = $1::int8");
  set_data_key = sql("UPDATE @.threads SET key_id = $2::bytea, data_key = $3::bytea "
                     "WHERE thread = $1::int8");
  erase_threads = sql("DELETE FROM @.threads WHERE thread = ANY ($1::int8[])");

  store_writes = sql("INSERT INTO @.writes AS w (chain, checkpoint_id, task_id, task_path, slot, "
                     "channel, value) SELECT $1::int8, $2::bytea, $3::bytea, $4::bytea, e.* "
                     "FROM unnest($5::int8[], $6::bytea[], $7::bytea[]) AS e "
                     "ON CONFLICT (chain, checkpoint_id, task_id, slot) DO UPDATE "
                     "SET task_path = excluded.task_path, channel = excluded.channel, "
                     "value = excluded.value WHERE w.slot < 0");
  store_values = sql("INSERT INTO @.channel_values (chain, channel, number, tag, value) "
                     "SELECT $1::int8, e.* FROM unnest($2::bytea[], $3::int8[], $4::int8[], "
                     "$5::bytea[]) AS e ON CONFLICT (chain, number, tag, ("
                     + postgres_key_of("channel") + ")) DO UPDATE SET value = excluded.value");
  erase_values = sql("DELETE FROM @.channel_values s USING (SELECT $1::int8 AS chain, e.* FROM "
                     "unnest($2::bytea[], $3::int8[], $4::int8[]) AS e(channel, number, tag)) w "
                     "WHERE s.chain = w.chain AND s.number = w.number AND s.tag = w.tag AND "
                     + postgres_key_of("s.channel") + " = " + postgres_key_of("w.channel"));
  store_checkpoint = sql(
    "INSERT INTO @.checkpoints (chain, checkpoint_id, parent_id, v, ts, metadata, run_id, "
    "channels, "
    "numbers, tags, seen, updated) VALUES ($1::int8, $2::bytea, $3::bytea, $4::int8, $5::bytea, "
    "$6::bytea, $7::bytea, $8::bytea[], $9::int8[], $10::int8[], $11::bytea, $12::bytea[]) "
    "ON CONFLICT (chain, checkpoint_id) DO UPDATE SET parent_id = excluded.parent_id, "
    "v = excluded.v, ts = excluded.ts, metadata = excluded.metadata, run_id = excluded.run_id, "
    "channels = excluded.channels, numbers = excluded.numbers, tags = excluded.tags, "
    "seen = excluded.seen, updated = excluded.updated");
  erase_chains_values = erase_of_thread("channel_values");
  erase_chains_writes = erase_of_thread("writes");
  erase_chains_checkpoints = erase_of_thread("checkpoints");
  erase_chains = sql("DELETE FROM @.chains WHERE thread = $1::int8");

  owner = sql("SELECT owner FROM @.threads WHERE thread_id = $1::bytea");
  owners = sql("SELECT thread_id, owner FROM @.threads ORDER BY thread_id");
  newest_tuple = sql(one_tuple(newest_one));
  tuple = sql(one_tuple(this_one));
  tuples = sql(tuples_of("SELECT k.*, e.place FROM unnest($1::int8[], $2::bytea[]) WITH ORDINALITY "
                         "AS e(chain, checkpoint_id, place) JOIN @.checkpoints k "
                         "ON k.chain = e.chain AND k.checkpoint_id = e.checkpoint_id"));
  list = sql("DECLARE listed NO SCROLL CURSOR FOR "
             "SELECT t.thread_id, c.ns, k.chain, k.checkpoint_id, k.metadata, t.thread, t.key_id, "
             "t.data_key FROM @.threads t "
             "JOIN @.chains c ON c.thread = t.thread JOIN @.checkpoints k ON k.chain = c.chain "
             "WHERE ($1::bytea IS NULL OR t.thread_id = $1) "
             "AND ($2::bytea IS NULL OR sha256(c.ns) = sha256($2)) "
             "AND ($3::bytea IS NULL OR k.checkpoint_id = $3) "
             "AND ($4::bytea IS NULL OR k.checkpoint_id < $4) "
             "ORDER BY t.thread_id, c.ns, k.checkpoint_id DESC");
  fetch = sql("FETCH " + std::to_string(limits::postgres_rows_fetched) + " FROM listed");
  threads = sql(all_threads);
  newest_parent = parent_of(newest_one);
  parent = parent_of(this_one);
  ancestors = sql(walk_up());

  summaries = sql("SELECT c.ns, c.chain, k.checkpoint_id, k.parent_id, k.ts, k.metadata "
                  "FROM @.chains c JOIN @.checkpoints k ON k.chain = c.chain "
                  "WHERE c.thread = $1::int8 ORDER BY c.ns, k.checkpoint_id");
  stored_of = sql("SELECT w.ns, w.checkpoint_id FROM (SELECT c.ns, k.chain, "
                  "k.checkpoint_id, e.* FROM @.chains c JOIN @.checkpoints k ON k.chain = c.chain "
                  "CROSS JOIN LATERAL unnest(k.channels, k.numbers, k.tags) "
                  "AS e(channel, number, tag) WHERE c.thread = $1::int8 "
                  "AND e.channel = $2::bytea) w"
                  + values_of("w"));
  erase_checkpoints = sql("DELETE FROM @.checkpoints" + std::string{these_checkpoints});
  erase_their_writes = sql("DELETE FROM @.writes" + std::string{these_checkpoints});
  erase_unused_values =
    sql("WITH used AS MATERIALIZED (SELECT DISTINCT k.chain, e.* FROM @.checkpoints k "
        "CROSS JOIN LATERAL unnest(k.channels, k.numbers, k.tags) AS e(channel, number, tag) "
        "WHERE k.chain IN "
        + std::string{of_thread} + "), gone AS (DELETE FROM @.channel_values s WHERE s.chain IN "
        + std::string{of_thread}
        + " AND NOT EXISTS (SELECT 1 FROM used u WHERE u.chain = s.chain AND u.number = s.number "
          "AND u.tag = s.tag AND u.channel = s.channel) RETURNING 1) SELECT count(*) FROM gone");
  erase_empty_chains = sql("DELETE FROM @.chains c WHERE c.thread = $1::int8 "
                           "AND NOT EXISTS (SELECT 1 FROM @.checkpoints k WHERE k.chain = c.chain) "
                           "AND NOT EXISTS (SELECT 1 FROM @.writes w WHERE w.chain = c.chain)");
  // Nested arrays, so that each step uses its index even while the planner knows no sizes.
  threads_of_runs = sql(
    "SELECT t.thread_id FROM @.threads t WHERE t.thread = ANY (ARRAY(SELECT c.thread "
    "FROM @.chains c WHERE c.chain = ANY (ARRAY(SELECT k.chain FROM @.checkpoints k "
    "WHERE k.run_id IS NOT NULL AND sha256(k.run_id) = ANY (ARRAY(SELECT sha256(r) "
    "FROM unnest($1::bytea[]) r)))))) ORDER BY t.thread_id");
  copy_chains = sql("INSERT INTO @.chains (chain, thread, ns) "
                    "SELECT nextval($3::text::regclass), $2::int8, ns FROM @.chains "
                    "WHERE thread = $1::int8");
  auto copy = [&sql](std::string_view table, std::string_view columns) {
    std::string name{columns};
    return sql(
      "INSERT INTO @." + std::string{table} + " (chain, " + name + ") SELECT target.chain, " + name
      + " FROM @.chains source JOIN @.chains target ON target.thread = $2::int8 "
        "AND sha256(target.ns) = sha256(source.ns) JOIN @."
      + std::string{table} + " k ON k.chain = source.chain WHERE source.thread = $1::int8");
  };
  copy_checkpoints = copy("checkpoints", "checkpoint_id, parent_id, v, ts, metadata, run_id, "
                                         "channels, numbers, tags, seen, updated");
  copy_values = copy("channel_values", "channel, number, tag, value");
  copy_writes = copy("writes", "checkpoint_id, task_id, slot, channel, task_path, value");
  auto copied = [&sql](std::string_view table, std::string_view columns) {
    return sql("DECLARE listed NO SCROLL CURSOR FOR SELECT source.chain, target.chain, "
               + std::string{columns}
               + " FROM @.chains source JOIN @.chains target ON target.thread = $2::int8 "
                 "AND sha256(target.ns) = sha256(source.ns) JOIN @."
               + std::string{table}
               + " k ON k.chain = source.chain WHERE source.thread = $1::int8");
  };
  copied_checkpoints = copied("checkpoints",
                              "k.checkpoint_id, k.parent_id, k.v, k.ts, k.metadata, k.seen, "
                              "k.channels, k.numbers, k.tags, k.updated");
  copied_values = copied("channel_values", "k.channel, k.number, k.tag, k.value");
  copied_writes = copied("writes",
                         "k.checkpoint_id, k.task_id, k.slot, k.channel, k.task_path, k.value");
  close = sql("CLOSE listed");
  reseal_checkpoint = sql("UPDATE @.checkpoints SET metadata = $3::bytea, seen = $4::bytea, "
                          "updated = NULL WHERE chain = $1::int8 AND checkpoint_id = $2::bytea");
  reseal_value = sql("UPDATE @.channel_values SET value = $5::bytea WHERE chain = $1::int8 "
                     "AND number = $3::int8 AND tag = $4::int8 AND "
                     + postgres_key_of("channel") + " = " + postgres_key_of("$2::bytea"));
  reseal_write = sql("UPDATE @.writes SET value = $5::bytea, task_path = ''::bytea "
                     "WHERE chain = $1::int8 AND checkpoint_id = $2::bytea "
                     "AND task_id = $3::bytea AND slot = $4::int8");

  auto drop_older = [&sql](std::string_view table) {
    return sql("DELETE FROM @." + std::string{table}
               + " WHERE chain = $1::int8 AND checkpoint_id < $2::bytea");
  };
  drop_older_checkpoints = drop_older("checkpoints");
  drop_older_writes = drop_older("writes");
  drop_other_values = sql(
    "WITH used AS MATERIALIZED (SELECT DISTINCT e.* FROM @.checkpoints k CROSS JOIN LATERAL "
    "unnest(k.channels, k.numbers, k.tags) AS e(channel, number, tag) WHERE k.chain = $1::int8) "
    "DELETE FROM @.channel_values s WHERE s.chain = $1::int8 AND NOT EXISTS (SELECT 1 FROM used "
    "u WHERE u.number = s.number AND u.tag = s.tag AND u.channel = s.channel)");
  // A task id follows a colon.
  drop_task_namespaces = sql(
    "WITH gone AS MATERIALIZED (SELECT c.chain FROM @.chains c WHERE c.thread = $1::int8 "
    "AND substring(c.ns FROM 1 FOR length($2::bytea)) = $2::bytea "
    "AND position('\x3a'::bytea IN substring(c.ns FROM length($2::bytea) + 1)) > 0 "
    "AND EXISTS (SELECT 1 FROM @.checkpoints k WHERE k.chain = c.chain) AND NOT EXISTS "
    "(SELECT 1 FROM @.checkpoints k WHERE k.chain = c.chain "
    "AND k.checkpoint_id >= $3::bytea)), w AS (DELETE FROM @.writes WHERE chain IN (SELECT chain "
    "FROM gone)), "
    "k AS (DELETE FROM @.checkpoints WHERE chain IN (SELECT chain FROM gone)), "
    "s AS (DELETE FROM @.channel_values WHERE chain IN (SELECT chain FROM gone)) "
    "DELETE FROM @.chains WHERE chain IN (SELECT chain FROM gone)");

  auto erase_newer = [&sql](std::string_view table) {
    return sql("DELETE FROM @." + std::string{table} + " WHERE chain = ANY (ARRAY"
               + std::string{of_thread} + ") AND checkpoint_id > $2::bytea");
  };
  erase_newer_checkpoints = erase_newer("checkpoints");
  erase_newer_writes = erase_newer("writes");
  writes_behind = sql("SELECT w.chain, w.task_id, w.slot, w.channel, w.task_path, w.value "
                      "FROM @.chains c JOIN @.writes w ON w.chain = c.chain "
                      "WHERE c.thread = $1::int8 AND sha256(c.ns) = sha256($2::bytea) "
                      "AND w.checkpoint_id = $3::bytea");
  erase_writes_of =
    sql("DELETE FROM @.writes WHERE chain = $1::int8 AND checkpoint_id = $2::bytea");
  restore_writes = sql("INSERT INTO @.writes (chain, checkpoint_id, task_id, slot, channel, "
                       "task_path, value) SELECT $1::int8, $2::bytea, e.* FROM unnest($3::bytea[], "
                       "$4::int8[], $5::bytea[], $6::bytea[], $7::bytea[]) AS e");
  erase_empty_thread = sql("DELETE FROM @.threads t WHERE t.thread = $1::int8 AND NOT EXISTS "
                           "(SELECT 1 FROM @.chains c WHERE c.thread = t.thread)");

  data_keys = sql("SELECT thread, key_id, data_key FROM @.threads WHERE thread > $1::int8 "
                  "AND key_id IS NOT NULL ORDER BY thread LIMIT "
                  + std::to_string(limits::postgres_rows_fetched));
  swap_data_key = sql("UPDATE @.threads SET key_id = $3::bytea, data_key = $4::bytea "
                      "WHERE thread = $1::int8 AND data_key = $2::bytea RETURNING thread");
}

} // namespace troupe
