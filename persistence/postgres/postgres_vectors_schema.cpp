// postgres_vectors_schema: the migrations, the conversion of older vectors, the index.
#include "persistence/postgres/postgres_vectors_schema.hpp"

#include "persistence/postgres/postgres_schema.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

constexpr std::string_view vectors_part = "vectors";
constexpr std::string_view filled_vectors_part = "vectors filled";

// The sign, exponent and fraction of each IEEE 754 single. Null when one is not stored by troupe.
// Callers append nothing to the bytes, so that they are read whole once, not for each get_byte().
constexpr std::string_view vector_of =
  "CREATE FUNCTION @.vector_of(bytes bytea) RETURNS VECTOR LANGUAGE sql IMMUTABLE STRICT AS "
  "$troupe$ SELECT CASE WHEN count(*) = count(x) THEN array_agg(x ORDER BY i)::VECTOR END "
  "FROM (SELECT i, CASE WHEN abs(x) <= 999999986991104 THEN x::real END AS x FROM (SELECT i, "
  "CASE WHEN b3 > 127 THEN -1 ELSE 1 END * CASE WHEN e = 0 THEN m * power(2::float8, -149) "
  "ELSE (m + 8388608) * power(2::float8, e - 150) END AS x FROM (SELECT i, b3, "
  "(b3 & 127) * 2 + b2 / 128 AS e, ((b2 & 127) * 65536 + b1 * 256 + b0)::float8 AS m "
  "FROM (SELECT i, get_byte(bytes, i) AS b0, get_byte(bytes, i + 1) AS b1, "
  "get_byte(bytes, i + 2) AS b2, get_byte(bytes, i + 3) AS b3 "
  "FROM generate_series(0, octet_length(bytes) - 4, 4) AS i "
  "WHERE octet_length(bytes) % 4 = 0 AND octet_length(bytes) <= 64000) raw) parts) numbers) fit "
  "$troupe$";

// A sealed vector is not converted.
constexpr std::string_view embed_vector =
  "CREATE FUNCTION @.embed_vector() RETURNS trigger LANGUAGE plpgsql AS $troupe$ "
  "BEGIN NEW.embedding := CASE WHEN EXISTS (SELECT FROM @.store_state WHERE data_key IS NOT NULL) "
  "THEN NULL ELSE @.vector_of(NEW.vector || ''::bytea) END; RETURN NEW; END $troupe$";

std::string type_of(const vector_extension& extension) {
  return quoted_identifier(extension.schema) + ".vector";
}

std::string with_type(std::string_view sql, const vector_extension& extension) {
  constexpr std::string_view placeholder = "VECTOR";
  const auto type = type_of(extension);
  std::string out{sql};
  for (auto at = out.find(placeholder); at != out.npos;
       at = out.find(placeholder, at + type.size()))
    out.replace(at, placeholder.size(), type);
  return out;
}

std::vector<postgres_migration> vector_migrations(const vector_extension& extension) {
  return {{
    with_type("ALTER TABLE @.store_vectors ADD COLUMN embedding VECTOR", extension),
    "CREATE INDEX store_vectors_of_space ON @.store_vectors (space)",
    with_type(vector_of, extension),
    std::string{embed_vector},
    R"(CREATE TRIGGER embed BEFORE INSERT OR UPDATE OF vector ON @.store_vectors
      FOR EACH ROW EXECUTE FUNCTION @.embed_vector())",
  }};
}

std::string fill_piece(std::size_t dims) {
  const auto fits = std::clamp<std::size_t>(limits::postgres_statement_bytes_max / (dims * 4), 1,
                                            limits::postgres_vectors_filled_max);
  return "WITH piece AS MATERIALIZED (SELECT number, place FROM @.store_vectors "
         "WHERE (number, place) > ($1::int8, $2::int8) ORDER BY number, place LIMIT "
         + std::to_string(fits)
         + "), done AS (UPDATE @.store_vectors v SET embedding = @.vector_of(v.vector || "
           "''::bytea) "
           "FROM piece p WHERE v.number = p.number AND v.place = p.place "
           "AND v.embedding IS NULL) "
           "SELECT number, place FROM piece ORDER BY number DESC, place DESC LIMIT 1";
}

std::string index_name(const store_index& index) {
  constexpr std::array<std::string_view, 3> names{"cosine", "inner_product", "l2"};
  return "store_vectors_by_" + std::string{names[static_cast<std::size_t>(index.distance)]} + "_"
         + std::to_string(index.dims);
}

std::string index_definition(std::string_view name, std::string_view schema,
                             const vector_extension& extension, const store_index& index,
                             std::size_t count) {
  const auto in = quoted_identifier(extension.schema) + ".";
  const auto dims = std::to_string(index.dims);
  auto sql = "CREATE INDEX CONCURRENTLY " + std::string{name} + " ON @.store_vectors USING "
             + (extension.has_hnsw ? "hnsw" : "ivfflat") + " ((embedding::" + in + "vector(" + dims
             + ")) " + in + std::string{vector_operators_of_index(index.distance)} + ")";
  if (!extension.has_hnsw)
    sql += " WITH (lists = " + std::to_string(std::clamp<std::size_t>(count / 1000, 1, 32'768))
           + ")";
  return in_schema(sql + " WHERE " + in + "vector_dims(embedding) = " + dims, schema);
}

/// An index, which may exist, be unusable, or be built at the moment.
class index_builder {
public:
  index_builder(postgres_connection& on, std::string_view schema, const store_index& index)
    : on_{on},
      schema_{schema},
      index_{index},
      name_{index_name(index)},
      state_{in_schema("SELECT i.indisvalid::int::int8 FROM pg_index i WHERE i.indexrelid = "
                       "to_regclass($1::text)",
                       schema)},
      count_{in_schema("SELECT count(*)::int8 FROM @.store_vectors "
                       "WHERE octet_length(vector) = $1::int8",
                       schema)} {}

  result<bool> prepare(const vector_extension& extension) {
    auto usable = state();
    if (!usable)
      return usable.error();
    if (*usable && **usable)
      return true;
    postgres_params bytes;
    bytes.number(static_cast<std::int64_t>(index_.dims) * 4);
    auto count = number(count_, bytes);
    if (!count)
      return count.error();
    if (static_cast<std::size_t>(*count) <= index_.exact_max)
      return false;
    auto mine = number(lock_, lock_name());
    if (!mine)
      return mine.error();
    if (*mine == 0)
      return false;
    auto built = build(extension, static_cast<std::size_t>(*count));
    if (!built)
      return built.error();
    auto unlocked = number(unlock_, lock_name());
    return unlocked ? result<bool>{true} : unlocked.error();
  }

private:
  // nullopt: it does not exist.
  result<std::optional<bool>> state() {
    const auto name = quoted_identifier(schema_) + "." + name_;
    postgres_params params;
    params.bytes(name);
    auto rows = on_.ask(state_, params);
    if (!rows)
      return rows.error();
    return rows->size() == 0 ? std::optional<bool>{} : std::optional{rows->number(0, 0) != 0};
  }

  // An index that is not usable while this process has the lock is the rest of a build that failed.
  result<void> build(const vector_extension& extension, std::size_t count) {
    auto now = state();
    if (!now)
      return now.error();
    if (*now && **now)
      return {};
    if (*now)
      if (auto ok = alone(in_schema("DROP INDEX CONCURRENTLY @." + name_, schema_)); !ok)
        return ok;
    return alone(index_definition(name_, schema_, extension, index_, count));
  }

  // These statements must not be in a transaction with others.
  result<void> alone(const std::string& sql) {
    if (auto ok = on_.send_once(sql); !ok)
      return ok;
    auto done = on_.finish();
    return done ? result<void>{} : done.error();
  }

  result<std::int64_t> number(const postgres_statement& statement, const postgres_params& params) {
    auto rows = on_.ask(statement, params);
    if (!rows)
      return rows.error();
    return rows->size() == 1 ? rows->number(0, 0) : 0;
  }

  postgres_params lock_name() {
    lock_text_ = "troupe " + std::string{schema_} + " " + name_;
    postgres_params params;
    params.bytes(lock_text_);
    return params;
  }

  postgres_connection& on_;
  std::string_view schema_;
  const store_index& index_;
  const std::string name_;
  std::string lock_text_;
  const postgres_statement state_;
  const postgres_statement count_;
  const postgres_statement lock_{
    "SELECT pg_try_advisory_lock(hashtextextended($1::text, 0))::int::int8"};
  const postgres_statement unlock_{
    "SELECT pg_advisory_unlock(hashtextextended($1::text, 0))::int::int8"};
};

} // namespace

std::string_view vector_operator(vector_distance distance) noexcept {
  switch (distance) {
    case vector_distance::cosine: return "<=>";
    case vector_distance::inner_product: return "<#>";
    case vector_distance::l2: break;
  }
  return "<->";
}

std::string_view vector_operators_of_index(vector_distance distance) noexcept {
  switch (distance) {
    case vector_distance::cosine: return "vector_cosine_ops";
    case vector_distance::inner_product: return "vector_ip_ops";
    case vector_distance::l2: break;
  }
  return "vector_l2_ops";
}

vectors_preparation::vectors_preparation(const postgres_options& database, const store_index& index)
  : schema_{database.schema},
    find_{"SELECT n.nspname::text, e.extversion::text FROM pg_extension e "
          "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"},
    data_key_{in_schema("SELECT 1::int8 FROM @.store_state WHERE data_key IS NOT NULL", schema_)},
    is_filled_{in_schema("SELECT 1::int8 FROM @.migrations WHERE part = $1::text", schema_)},
    record_filled_{in_schema("INSERT INTO @.migrations (part, version) VALUES ($1::text, 1) "
                             "ON CONFLICT DO NOTHING",
                             schema_)},
    fill_piece_{in_schema(fill_piece(index.dims), schema_)} {}

result<std::unique_ptr<vectors_preparation>>
vectors_preparation::begin(const postgres_options& database, const store_index& index) {
  std::unique_ptr<vectors_preparation> begun{new vectors_preparation{database, index}};
  auto on = postgres_connection::open(database);
  if (!on)
    return on.error();
  begun->on_ = std::move(*on);
  return begun;
}

result<std::optional<vector_extension>> vectors_preparation::find_extension() {
  auto rows = on_->ask(find_);
  if (!rows)
    return rows.error();
  if (rows->size() == 0)
    return std::optional<vector_extension>{};
  return read_vector_extension(rows->bytes(0, 0), rows->bytes(0, 1));
}

result<bool> vectors_preparation::is_encrypted() {
  auto rows = on_->ask(data_key_);
  return rows ? result<bool>{rows->size() != 0} : rows.error();
}

result<void> vectors_preparation::prepare(const vector_extension& extension) {
  if (auto ok = migrate(*on_, schema_, vectors_part, vector_migrations(extension)); !ok)
    return ok;
  // Fails as a search would: when the user may not use the extension, or the column is missing.
  if (auto ok = on_->send_once(in_schema(with_type("SELECT embedding::VECTOR FROM @.store_vectors "
                                                   "WHERE number = 0",
                                                   extension),
                                         schema_));
      !ok)
    return ok;
  postgres_params filled;
  filled.bytes(filled_vectors_part);
  auto is_filled = on_->ask(is_filled_, filled);
  if (!is_filled)
    return is_filled.error();
  if (is_filled->size() != 0)
    return {};
  if (auto ok = fill(); !ok)
    return ok;
  auto recorded = on_->ask(record_filled_, filled);
  return recorded ? result<void>{} : recorded.error();
}

// Vectors that are stored meanwhile are converted by the trigger.
result<void> vectors_preparation::fill() {
  for (std::int64_t number = 0, place = 0;;) {
    postgres_params params;
    params.number(number).number(place);
    auto last = on_->ask(fill_piece_, params);
    if (!last)
      return last.error();
    if (last->size() == 0)
      return {};
    number = last->number(0, 0);
    place = last->number(0, 1);
  }
}

result<bool> prepare_vector_index(const postgres_options& database,
                                  const vector_extension& extension, const store_index& index) {
  if (index.dims > limits::postgres_indexed_dims_max)
    return false;
  auto patient = database;
  patient.statement_timeout = std::max(patient.statement_timeout, limits::postgres_index_timeout);
  auto on = postgres_connection::open(patient);
  if (!on)
    return on.error();
  return index_builder{**on, database.schema, index}.prepare(extension);
}

} // namespace troupe
