// postgres_rewind: undoes a run of a thread in Postgres.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_sealing.hpp"
#include "persistence/postgres/postgres_statements.hpp"

#include <troupe/saver.hpp>

#include <string>

namespace troupe {

/// As saver::rewind, in one transaction, which locks the thread's row as the writer does. A second
/// call changes nothing, unless another run took the thread over: then it is a conflict.
result<void> rewind_thread(postgres_connection& on, const postgres_statements& sql,
                           const postgres_sealing& sealing, const std::string& thread_id,
                           const rewind_point& to);

} // namespace troupe
