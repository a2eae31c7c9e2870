// postgres_vectors: opening, and the ranking of vectors by statements.
#include "persistence/postgres/postgres_vectors.hpp"

#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/postgres/postgres_vectors_schema.hpp"
#include "persistence/store/store_namespace.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace troupe {

namespace {

constexpr std::size_t candidates_each = 4;  // hits asked of the index for each expected one
constexpr std::size_t candidates_min = 64;  // and at least
constexpr std::size_t lists_probed = 32;    // of an ivfflat index
constexpr std::size_t vectors_fetched = 64; // by the first look at a cursor

float score_of(vector_distance distance, double d) {
  return static_cast<float>(distance == vector_distance::cosine ? 1 - d : -d);
}

std::vector<vector_hit> read_hits(postgres_rows& rows, vector_distance distance) {
  std::vector<vector_hit> hits;
  hits.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    hits.push_back({score_of(distance, std::bit_cast<double>(rows.number(row, 1))),
                    static_cast<std::uint64_t>(rows.number(row, 0))});
  return hits;
}

// Hits of a cursor, which is open as long as its transaction.
class cursor_hits final : public vector_hits {
public:
  cursor_hits(postgres_connection& on, const postgres_vector_statements& sql,
              vector_distance distance, std::vector<vector_hit> first)
    : on_{on},
      sql_{sql},
      distance_{distance},
      read_{std::move(first)},
      is_over_{read_.size() < vectors_fetched} {}

  result<std::vector<vector_hit>> next() override {
    std::vector<vector_hit> alike;
    for (;;) {
      if (at_ == read_.size()) {
        if (is_over_)
          return alike;
        if (auto ok = read_more(); !ok)
          return ok.error();
        continue;
      }
      if (!alike.empty() && alike.front().score != read_[at_].score)
        return alike;
      alike.push_back(read_[at_++]);
    }
  }
  bool is_complete() const noexcept override { return true; }

private:
  result<void> read_more() {
    auto rows = on_.ask(sql_.fetch_more);
    if (!rows)
      return rows.error();
    read_ = read_hits(*rows, distance_);
    at_ = 0;
    is_over_ = read_.empty();
    return {};
  }

  postgres_connection& on_;
  const postgres_vector_statements& sql_;
  const vector_distance distance_;
  std::vector<vector_hit> read_;
  std::size_t at_ = 0;
  bool is_over_;
};

/// The first namespace under a prefix, and the end, as parameters of a statement.
struct prefix_bounds {
  std::string first;
  std::string end;

  explicit prefix_bounds(const store_namespace& prefix)
    : first{namespace_bytes(prefix)},
      end{namespace_bytes_end(first)} {}
  bool has_all() const noexcept { return first.empty(); }
  void append_to(postgres_params& params) const {
    if (!has_all())
      params.bytes(first).bytes(end);
  }
};

// Tries to create the extension. A failure is a reason, because another process may have created
// it meanwhile.
std::string create_extension(const postgres_options& database) {
  auto on = postgres_connection::open(database);
  if (!on)
    return on.error().message();
  if (auto ok = (*on)->send_once("CREATE EXTENSION IF NOT EXISTS vector"); !ok)
    return ok.error().message();
  auto done = (*on)->finish();
  return done ? "" : done.error().message();
}

error not_in_the_database(const std::string& why) {
  return {errc::invalid_config, "open a Postgres store: vector_search::database: " + why};
}

} // namespace

// ---- the statements -----------------------------------------------------------------------------

std::optional<vector_extension> read_vector_extension(std::string_view schema,
                                                      std::string_view version) {
  std::array<int, 2> numbers{};
  const auto* at = version.data();
  const auto* end = at + version.size();
  for (auto& number : numbers) {
    auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc{})
      return std::nullopt;
    at = read.ptr == end ? end : read.ptr + 1;
  }
  if (numbers < std::array{0, 4} || schema.find('@') != schema.npos) // in_schema() would replace it
    return std::nullopt;
  return vector_extension{std::string{schema}, numbers >= std::array{0, 5}};
}

std::string vector_text(std::span<const float> numbers) {
  std::string out{"["};
  std::array<char, 32> digits{};
  for (auto x : numbers) {
    if (out.size() > 1)
      out.push_back(',');
    out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr);
  }
  return out + "]";
}

postgres_vector_statements::postgres_vector_statements(std::string_view schema,
                                                       const vector_extension& extension,
                                                       const store_index& index) {
  auto sql = [schema](const std::string& text) {
    return postgres_statement{in_schema(text, schema)};
  };
  const auto in = quoted_identifier(extension.schema) + ".";
  const auto dims = std::to_string(index.dims);
  const auto by = " OPERATOR(" + in + std::string{vector_operator(index.distance)} + ") ";
  const std::string from = " FROM @.store_vectors v WHERE ";
  auto under = [](int first) {
    return " AND v.space = ANY (ARRAY(SELECT space FROM @.store_spaces WHERE path >= $"
           + std::to_string(first) + "::bytea AND path < $" + std::to_string(first + 1)
           + "::bytea))";
  };

  auto distance = "(v.embedding" + by + "(SELECT $1::text::" + in + "vector))::float8";
  if (index.distance == vector_distance::cosine) // a vector of zeros has no angle
    distance = "coalesce(nullif(" + distance + ", 'NaN'::float8), 1)";
  auto ranked = [&](const std::string& condition) {
    return sql("DECLARE ranked NO SCROLL CURSOR FOR SELECT v.number, " + distance + from
               + "octet_length(v.vector) = $2::int8 AND v.embedding IS NOT NULL" + condition
               + " ORDER BY 2, 1");
  };
  rank = ranked("");
  rank_under = ranked(under(3));
  fetch = sql("FETCH " + std::to_string(vectors_fetched) + " FROM ranked");
  fetch_more = sql("FETCH 1024 FROM ranked");

  // As in the index.
  const auto type = in + "vector(" + dims + ")";
  const auto near = "(v.embedding::" + type + ")" + by + "$1::text::" + type;
  auto by_index = [&](const std::string& condition) {
    return sql("SELECT v.number, (" + near + ")::float8" + from + in + "vector_dims(v.embedding) = "
               + dims + condition + " ORDER BY " + near + " LIMIT $2::int8");
  };
  closest = by_index("");
  closest_under = by_index(under(3));

  auto counted = [&](const std::string& condition) {
    return sql("SELECT count(*)::int8 FROM (SELECT 1" + from + "octet_length(v.vector) = $1::int8"
               + condition + " LIMIT $2::int8) bounded");
  };
  count = counted("");
  count_under = counted(under(3));
}

// ---- opening ------------------------------------------------------------------------------------

postgres_vectors::postgres_vectors(std::string_view schema, const vector_extension& extension,
                                   const store_index& index)
  : extension_{extension},
    dims_{index.dims},
    distance_{index.distance},
    exact_max_{index.exact_max},
    sql_{schema, extension, index} {}

result<std::unique_ptr<postgres_vectors>> postgres_vectors::open(const postgres_options& database,
                                                                 const store_index& index) {
  const auto must = database.search == vector_search::database;
  if (database.search == vector_search::memory)
    return std::unique_ptr<postgres_vectors>{};
  if (index.dims > limits::postgres_vector_dims_max) {
    if (must)
      return not_in_the_database("the index has " + std::to_string(index.dims) + " dims, more than "
                                 + std::to_string(limits::postgres_vector_dims_max));
    return std::unique_ptr<postgres_vectors>{};
  }
  auto preparation = vectors_preparation::begin(database, index);
  if (!preparation)
    return preparation.error();
  auto is_encrypted = (*preparation)->is_encrypted();
  if (!is_encrypted)
    return is_encrypted.error();
  if (*is_encrypted || database.keyring) {
    if (must)
      return not_in_the_database("an encrypted store is searched in memory");
    return std::unique_ptr<postgres_vectors>{};
  }
  auto extension = (*preparation)->find_extension();
  std::string why;
  if (extension && !*extension && must) {
    why = create_extension(database);
    extension = (*preparation)->find_extension();
  }
  if (!extension)
    return extension.error();
  if (!*extension) {
    if (must)
      return not_in_the_database("the extension `vector` (0.4 or newer) is missing"
                                 + (why.empty() ? why : " and can't be created: " + why));
    return std::unique_ptr<postgres_vectors>{};
  }
  if (auto ok = (*preparation)->prepare(**extension); !ok) {
    // The user may lack a right, for instance that to add a trigger.
    if (!must && (*preparation)->failure() == postgres_failure::statement)
      return std::unique_ptr<postgres_vectors>{};
    return ok.error();
  }
  auto has_index = prepare_vector_index(database, **extension, index);
  std::unique_ptr<postgres_vectors> opened{
    new postgres_vectors{database.schema, **extension, index}};
  opened->has_index_ = has_index && *has_index; // without it a search compares all
  return opened;
}

// ---- ranking ------------------------------------------------------------------------------------

result<std::unique_ptr<vector_hits>> postgres_vectors::rank(postgres_connection& on,
                                                            std::span<const float> query,
                                                            const store_namespace& prefix,
                                                            std::size_t count) const {
  const auto text = vector_text(query);
  auto near = by_index(on, text, prefix, count);
  if (!near)
    return near.error();
  if (*near)
    return std::unique_ptr<vector_hits>{std::make_unique<ranked_hits>(std::move(**near))};

  const prefix_bounds bounds{prefix};
  postgres_params params;
  params.bytes(text).number(static_cast<std::int64_t>(dims_) * 4);
  bounds.append_to(params);
  if (auto ok = on.send(sql_.close); !ok) // of an earlier search in the same batch
    return ok.error();
  if (auto ok = on.send(bounds.has_all() ? sql_.rank : sql_.rank_under, params); !ok)
    return ok.error();
  auto first = on.ask(sql_.fetch);
  if (!first)
    return first.error();
  return std::unique_ptr<vector_hits>{
    std::make_unique<cursor_hits>(on, sql_, distance_, read_hits(*first, distance_))};
}

// nullopt: all vectors must be compared.
result<std::optional<vector_ranking>> postgres_vectors::by_index(postgres_connection& on,
                                                                 std::string_view query,
                                                                 const store_namespace& prefix,
                                                                 std::size_t count) const {
  if (!has_index_ || count > limits::postgres_candidates_max / candidates_each)
    return std::optional<vector_ranking>{};
  const prefix_bounds bounds{prefix};
  postgres_params counted;
  counted.number(static_cast<std::int64_t>(dims_) * 4);
  counted.number(static_cast<std::int64_t>(std::min<std::size_t>(exact_max_, INT32_MAX)) + 1);
  bounds.append_to(counted);
  auto found = on.ask(bounds.has_all() ? sql_.count : sql_.count_under, counted);
  if (!found)
    return found.error();
  if (found->size() != 1 || static_cast<std::size_t>(found->number(0, 0)) <= exact_max_)
    return std::optional<vector_ranking>{};

  const auto candidates = std::max(candidates_min, candidates_each * count);
  const auto setting = extension_.has_hnsw
                         ? "SET LOCAL hnsw.ef_search = " + std::to_string(candidates)
                         : "SET LOCAL ivfflat.probes = " + std::to_string(lists_probed);
  if (auto ok = on.send_once(setting); !ok)
    return ok.error();
  postgres_params params;
  params.bytes(query).number(static_cast<std::int64_t>(candidates));
  bounds.append_to(params);
  auto rows = on.ask(bounds.has_all() ? sql_.closest : sql_.closest_under, params);
  if (!rows)
    return rows.error();
  return std::optional{vector_ranking{read_hits(*rows, distance_), false}};
}

} // namespace troupe
