// Copying a thread: its records under new numbers.
#pragma once

#include "persistence/lmdb/lmdb_writer.hpp"

#include <string>

namespace troupe {

/// Copies all of `source` to `target`, within a transaction of the writer. The copy has no owner.
/// Nothing happens when there is no such thread. A target that exists is refused.
write_outcome copy_thread(lmdb_writer& writer, const std::string& source,
                          const std::string& target);

} // namespace troupe
