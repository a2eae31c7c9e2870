// postgres_vectors: the search by meaning in the database, with its extension `vector` (pgvector).
// FORMAT.md, "Postgres", explains the tables.
//
// A trigger of the database converts each stored vector, whoever stores it. So stores that search
// in the database and stores that search in memory can share a schema.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_statements.hpp"
#include "persistence/store/store_backend.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The extension, as installed in a database.
struct vector_extension {
  std::string schema;
  bool has_hnsw = false; // pgvector 0.5 or newer; older ones have ivfflat only
};

/// The extension's facts, of the name of its schema and its version ("0.8.1").
/// Errors: nullopt for versions that are too old, and for what is not a version.
std::optional<vector_extension> read_vector_extension(std::string_view schema,
                                                      std::string_view version);

/// A vector as the extension reads it, without a loss.
std::string vector_text(std::span<const float> numbers);

/// The statements for the vectors of one length and one distance.
struct postgres_vector_statements : postgres_transactions {
  postgres_vector_statements(std::string_view schema, const vector_extension& extension,
                             const store_index& index);

  postgres_statement close{"CLOSE ALL"};
  // A cursor over all vectors by distance: the query's text, bytes of a vector, and for those under
  // a prefix its first and its end.
  postgres_statement rank;
  postgres_statement rank_under;
  postgres_statement fetch; // → number, distance
  postgres_statement fetch_more;
  // By the index: the query's text, how many, first and end.
  postgres_statement closest; // → number, distance
  postgres_statement closest_under;
  // Counting up to a bound: bytes of a vector, the bound, first and end.
  postgres_statement count;
  postgres_statement count_under;
};

/// The search by meaning of one store.
/// Thread: any.
class postgres_vectors {
public:
  /// Prepares the schema for searches in the database; null when the store searches in memory.
  /// Blocks: while vectors that are older than the extension are converted, and an index is built.
  /// Errors: as open_postgres_store.
  static result<std::unique_ptr<postgres_vectors>> open(const postgres_options& database,
                                                        const store_index& index);

  /// As store_snapshot::rank, in the transaction that is open on the connection.
  result<std::unique_ptr<vector_hits>> rank(postgres_connection& on, std::span<const float> query,
                                            const store_namespace& prefix, std::size_t count) const;

private:
  postgres_vectors(std::string_view schema, const vector_extension& extension,
                   const store_index& index);
  result<std::optional<vector_ranking>> by_index(postgres_connection& on, std::string_view query,
                                                 const store_namespace& prefix,
                                                 std::size_t count) const;

  const vector_extension extension_;
  const std::size_t dims_;
  const vector_distance distance_;
  const std::size_t exact_max_;
  const postgres_vector_statements sql_;
  bool has_index_ = false;
};

} // namespace troupe
