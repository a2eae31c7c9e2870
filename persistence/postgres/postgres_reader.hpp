// postgres_reader: reads threads and checkpoints out of Postgres, each call from one snapshot of
// the tables.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_statements.hpp"

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
/// Errors: checkpoint_corrupt.
result<std::vector<placed_tuple>> read_tuples(postgres_rows& rows);

/// Thread: one at a time.
/// Errors: of all members checkpoint_corrupt and those of the connection.
class postgres_reader {
public:
  postgres_reader(postgres_connection& from, const postgres_statements& sql)
    : from_{from},
      sql_{sql} {}

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

  postgres_connection& from_;
  const postgres_statements& sql_;
};

} // namespace troupe
