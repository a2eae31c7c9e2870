// Undoing a run: its checkpoints and writes, in one transaction.
#pragma once

#include "persistence/lmdb/lmdb_writer.hpp"

#include <string>

namespace troupe {

/// As saver::rewind(), within a transaction of the writer; values stay, and namespaces without
/// checkpoints. Nothing happens when there is no such thread.
write_outcome rewind(lmdb_writer& writer, const std::string& thread_id, const rewind_point& to);

} // namespace troupe
