// postgres_reader: reads threads and checkpoints out of Postgres, each call from one snapshot of
// the tables.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_sealing.hpp"
#include "persistence/postgres/postgres_statements.hpp"
#include "persistence/record/saver_rules.hpp"

#include <troupe/saver.hpp>

#include <optional>
#include <vector>

namespace troupe {

/// A checkpoint that is assembled from the rows of a "tuple" statement.
/// Shape:  with its place; thread id and namespace are empty.
struct placed_tuple {
  std::int64_t place = 0;
  std::int64_t chain = 0;
  checkpoint_tuple tuple;
};

/// Order:  by place.
/// Errors: checkpoint_corrupt; those of the opener.
result<std::vector<placed_tuple>> read_tuples(postgres_rows& rows, row_opener& opener);

/// The columns of a write.
struct stored_write {
  std::int64_t chain = 0;
  std::string_view checkpoint_id;
  std::string_view task_id;
  std::int64_t slot = 0;
  std::string_view channel;
  std::string_view task_path;
  std::string_view value;
};
/// Its path and its value's bytes, opened when they are sealed.
/// Owns:   nothing; valid until the end of the opener's scope.
/// Errors: checkpoint_corrupt; those of the opener.
result<path_and_value> open_write(const stored_write& stored, row_opener& opener);
result<slotted_write> read_write(const stored_write& stored, row_opener& opener);

/// Thread: one at a time.
/// Errors: of all members checkpoint_corrupt, key_missing, those of the key provider and of the
///         connection.
class postgres_reader {
public:
  /// `keys` may be null, and must outlive the reader.
  postgres_reader(postgres_connection& from, const postgres_statements& sql,
                  const key_provider* keys)
    : from_{from},
      sql_{sql},
      opener_{keys} {}

  result<std::uint64_t> thread_owner(const std::string& thread_id);
  result<std::vector<owned_thread>> owners();
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref);
  result<std::vector<checkpoint_tuple>> list(const list_query& query);
  result<std::vector<thread_info>> threads();
  /// As saver::get_delta_channel_history; reads no value of another channel.
  result<named<delta_history>> delta_histories(const checkpoint_ref& ref,
                                               const std::vector<std::string>& channels);

private:
  result<void> end_reading();
  result<void> take_listed(const list_query& query, postgres_rows& rows,
                           std::vector<checkpoint_tuple>& found);
  result<value> read_listed_metadata(postgres_rows& rows, std::size_t row);

  postgres_connection& from_;
  const postgres_statements& sql_;
  row_opener opener_;
};

} // namespace troupe
