// postgres_copy: copies threads in Postgres, on a reader's connection.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_sealing.hpp"
#include "persistence/postgres/postgres_statements.hpp"

#include <string>

namespace troupe {

/// The arguments of saver::copy_thread.
struct thread_copied {
  const std::string& source;
  const std::string& target;
  const std::string& up_to;
};

/// As saver::copy_thread, without its checks of the ids. Plain rows are copied by the server. With
/// keys, or from an encrypted thread, the copy gets a data key of its own, and all of its rows are
/// sealed under it. `sequence`: the sequence of new numbers.
/// Shape:  `may_be_done` is set before the commit: from then on, after a lost connection, it is not
///         known whether the copy exists.
result<void> copy_thread(postgres_connection& on, const postgres_statements& sql,
                         const postgres_sealing& sealing, const std::string& sequence,
                         const thread_copied& what, bool& may_be_done);

} // namespace troupe
