// lmdb_rewind: undoes a run's checkpoints and writes, in one transaction.
#pragma once

#include "persistence/lmdb/lmdb_writer.hpp"

#include <string>

namespace troupe {

/// As saver::rewind(), within a transaction of the writer. Values stay, and so do namespaces
/// without checkpoints. Does nothing when the thread does not exist.
write_outcome rewind(lmdb_writer& writer, const std::string& thread_id, const rewind_point& to);

} // namespace troupe
