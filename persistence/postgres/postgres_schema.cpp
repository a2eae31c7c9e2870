// postgres_schema: the migrations. FORMAT.md, "Postgres", explains the columns. A released
// migration is never edited.
#include "persistence/postgres/postgres_schema.hpp"

namespace troupe {

namespace {

constexpr std::string_view key_bytes_max = "256"; // longest name that stands whole in an index

// Ids and names are bytea: any bytes, compared as bytes whatever the database's collation.
std::vector<postgres_migration> make_saver_migrations() {
  return {
    {
      // Thread and chain numbers are handed out in blocks, so that a writer has them without a
      // query.
      "CREATE SEQUENCE @.numbers INCREMENT BY 1024",
      // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): a statement over two lines
      "CREATE TABLE @.threads (thread_id bytea PRIMARY KEY, thread int8 NOT NULL UNIQUE, "
      "owner int8 NOT NULL DEFAULT 0)",
      "CREATE TABLE @.chains (chain int8 PRIMARY KEY, thread int8 NOT NULL, ns bytea NOT NULL)",
      "CREATE UNIQUE INDEX chains_of_thread ON @.chains (thread, sha256(ns))",
      "CREATE TABLE @.checkpoints (chain int8, checkpoint_id bytea, parent_id bytea NOT NULL, "
      "v int8 NOT NULL, ts bytea NOT NULL, metadata bytea NOT NULL, run_id bytea, "
      "channels bytea[] NOT NULL, numbers int8[] NOT NULL, tags int8[] NOT NULL, "
      "seen bytea NOT NULL, updated bytea[], PRIMARY KEY (chain, checkpoint_id))",
      "CREATE INDEX checkpoints_of_run ON @.checkpoints (sha256(run_id)) WHERE run_id IS NOT NULL",
      "CREATE TABLE @.channel_values (chain int8 NOT NULL, channel bytea NOT NULL, "
      "number int8 NOT NULL, tag int8 NOT NULL, value bytea NOT NULL)",
      "CREATE UNIQUE INDEX channel_values_at ON @.channel_values (chain, number, tag, ("
        + postgres_key_of("channel") + "))",
      "CREATE TABLE @.writes (chain int8, checkpoint_id bytea, task_id bytea, slot int8, "
      "channel bytea NOT NULL, task_path bytea NOT NULL, value bytea NOT NULL, "
      "PRIMARY KEY (chain, checkpoint_id, task_id, slot))",
    },
    {
      // A thread's data key, wrapped, and the id of the key that wrapped it; null: a plain thread.
      "ALTER TABLE @.threads ADD COLUMN key_id bytea, ADD COLUMN data_key bytea",
    }};
}

// A change locks the state's only row. Vectors are stored uncompressed: compression hardly makes
// them smaller.
std::vector<postgres_migration> make_store_migrations() {
  return {
    {
      "CREATE TABLE @.store_state (last int8 NOT NULL)",
      "INSERT INTO @.store_state VALUES (0)",
      "CREATE TABLE @.store_spaces (space int8 PRIMARY KEY, path bytea NOT NULL UNIQUE)",
      // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): a statement over two lines
      "CREATE TABLE @.store_items (space int8, key bytea, number int8 NOT NULL UNIQUE, "
      "value bytea NOT NULL, created int8 NOT NULL, updated int8 NOT NULL, ttl int8 NOT NULL, "
      "ends int8 NOT NULL, PRIMARY KEY (space, key))",
      "CREATE INDEX store_items_that_end ON @.store_items (ends) WHERE ends < "
        + std::to_string(INT64_MAX),
      "CREATE TABLE @.store_vectors (number int8, place int8, space int8 NOT NULL, "
      "vector bytea NOT NULL, PRIMARY KEY (number, place))",
      "ALTER TABLE @.store_vectors ALTER COLUMN vector SET STORAGE EXTERNAL",
    },
    {
      "ALTER TABLE @.store_state ADD COLUMN key_id bytea, ADD COLUMN data_key bytea",
    }};
}

postgres_params text_params(std::initializer_list<std::string_view> texts) {
  postgres_params params;
  for (auto text : texts)
    params.bytes(text);
  return params;
}

class migrator {
public:
  migrator(postgres_connection& on, std::string_view schema, std::string_view part)
    : on_{on},
      schema_{schema},
      part_{part},
      version_{in_schema("SELECT coalesce(max(version), 0)::int8 FROM @.migrations "
                         "WHERE part = $1::text",
                         schema)},
      record_{in_schema("INSERT INTO @.migrations (part, version) VALUES ($1::text, $2::int8)",
                        schema)} {}

  /// The part's version; 0 when it does not exist.
  result<std::int64_t> version() {
    auto quoted = quoted_identifier(schema_);
    auto there = on_.ask(is_there_, text_params({quoted + ".migrations"}));
    if (!there)
      return there.error();
    if (there->is_null(0, 0))
      return std::int64_t{0};
    auto found = on_.ask(version_, text_params({part_}));
    if (!found)
      return found.error();
    return found->number(0, 0);
  }

  /// Runs the migration after `from`, unless another process did meanwhile.
  result<void> advance(std::int64_t from, const postgres_migration& migration) {
    if (auto ok = ask(lock_); !ok)
      return ok;
    // Begun only after the lock: a transaction that began before may not see tables made since.
    if (auto ok = on_.send_once("BEGIN"); !ok)
      return ok;
    auto now = version();
    if (!now)
      return now.error();
    if (*now == from)
      if (auto ok = run(from, migration); !ok)
        return ok;
    if (auto ok = on_.send_once("COMMIT"); !ok)
      return ok;
    return ask(unlock_);
  }

private:
  result<void> ask(const postgres_statement& statement) {
    auto done = on_.ask(statement, text_params({"troupe " + std::string{schema_}}));
    return done ? result<void>{} : done.error();
  }

  result<void> run(std::int64_t from, const postgres_migration& migration) {
    postgres_migration all;
    if (from == 0)
      all = {"CREATE SCHEMA IF NOT EXISTS @",
             "CREATE TABLE IF NOT EXISTS @.migrations (part text, version int8, "
             "applied timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (part, version))"};
    all.insert(all.end(), migration.begin(), migration.end());
    for (const auto& sql : all)
      if (auto ok = on_.send_once(in_schema(sql, schema_)); !ok)
        return ok;
    postgres_params params;
    params.bytes(part_).number(from + 1);
    auto recorded = on_.ask(record_, params);
    return recorded ? result<void>{} : recorded.error();
  }

  postgres_connection& on_;
  std::string_view schema_;
  std::string_view part_;
  const postgres_statement is_there_{"SELECT to_regclass($1::text)::oid::int8"};
  const postgres_statement lock_{
    "SELECT 1::int8 FROM pg_advisory_lock(hashtextextended($1::text, 0))"};
  const postgres_statement unlock_{
    "SELECT 1::int8 FROM pg_advisory_unlock(hashtextextended($1::text, 0))"};
  const postgres_statement version_;
  const postgres_statement record_;
};

} // namespace

std::string in_schema(std::string_view sql, std::string_view schema) {
  auto name = quoted_identifier(schema);
  std::string out;
  for (auto c : sql) {
    if (c == '@')
      out += name;
    else
      out += c;
  }
  return out;
}

std::string postgres_key_of(std::string_view name) {
  std::string n{name};
  std::string max{key_bytes_max};
  return "CASE WHEN length(" + n + ") <= " + max + " THEN " + n + " ELSE substr(" + n + ", 1, "
         + max + ") || sha256(" + n + ") END";
}

std::span<const postgres_migration> saver_migrations() {
  static const auto migrations = make_saver_migrations();
  return migrations;
}

std::span<const postgres_migration> store_migrations() {
  static const auto migrations = make_store_migrations();
  return migrations;
}

result<bool> has_part(postgres_connection& on, std::string_view schema, std::string_view part) {
  auto at = migrator{on, schema, part}.version();
  return at ? result<bool>{*at > 0} : at.error();
}

result<void> migrate(postgres_connection& on, std::string_view schema, std::string_view part,
                     std::span<const postgres_migration> migrations) {
  migrator with{on, schema, part};
  for (;;) {
    auto at = with.version();
    if (!at)
      return at.error();
    auto known = static_cast<std::int64_t>(migrations.size());
    if (*at > known)
      return error{errc::format_too_new,
                   "open a Postgres database: schema `" + std::string{schema}
                     + "` was written by a newer troupe: its " + std::string{part} + " has version "
                     + std::to_string(*at) + ", this troupe reads up to " + std::to_string(known)};
    if (*at == known)
      return {};
    if (auto ok = with.advance(*at, migrations[static_cast<std::size_t>(*at)]); !ok)
      return ok;
  }
}

} // namespace troupe
