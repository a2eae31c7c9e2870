// postgres_vectors_schema: the column, trigger and index of a search in the database.
#pragma once

#include "persistence/postgres/postgres_vectors.hpp"

namespace troupe {

/// An operator of the extension and its kind of index, for a distance. Smaller is closer.
std::string_view vector_operator(vector_distance distance) noexcept;
std::string_view vector_operators_of_index(vector_distance distance) noexcept;

/// The preparation of a schema, on a connection of its own.
class vectors_preparation {
public:
  /// Errors: as postgres_connection::open.
  static result<std::unique_ptr<vectors_preparation>> begin(const postgres_options& database,
                                                            const store_index& index);

  /// The extension of the database; nullopt when it is missing or too old.
  result<std::optional<vector_extension>> find_extension();
  /// Whether the store has a data key: its items and vectors are sealed.
  result<bool> is_encrypted();
  /// Adds the column and the trigger when they are missing, and fills the column. Fails when the
  /// user may not use the extension.
  /// Blocks: at the first time, while it converts all vectors, a piece at a time.
  result<void> prepare(const vector_extension& extension);
  /// The kind of the failure of prepare().
  postgres_failure failure() const noexcept { return on_->failure(); }

private:
  vectors_preparation(const postgres_options& database, const store_index& index);
  result<void> fill();

  const std::string schema_;
  const postgres_statement find_;
  const postgres_statement data_key_;
  const postgres_statement is_filled_;
  const postgres_statement record_filled_;
  const postgres_statement fill_piece_;
  std::unique_ptr<postgres_connection> on_; // after the statements that it has prepared
};

/// Whether there is a usable index. Builds it when there are enough vectors and no other process
/// builds it at the moment.
/// Blocks: while it is built; other stores can read and change items meanwhile.
result<bool> prepare_vector_index(const postgres_options& database,
                                  const vector_extension& extension, const store_index& index);

} // namespace troupe
