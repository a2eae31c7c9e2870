// lmdb_copy: copies a thread, with its records under new numbers.
#pragma once

#include "persistence/lmdb/lmdb_writer.hpp"

#include <string>

namespace troupe {

/// Copies thread `source` to `target`, within a transaction of the writer. The copy has no owner.
/// Does nothing when `source` does not exist; refuses a `target` that exists.
write_outcome copy_thread(lmdb_writer& writer, const std::string& source,
                          const std::string& target);

} // namespace troupe
