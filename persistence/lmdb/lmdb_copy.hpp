// lmdb_copy: copies a thread, with its records under new numbers.
#pragma once

#include "persistence/lmdb/lmdb_writer.hpp"

#include <string>

namespace troupe {

/// As saver::copy_thread, without its checks of the ids, within a transaction of the writer. The
/// copy has no owner.
write_outcome copy_thread(lmdb_writer& writer, const std::string& source, const std::string& target,
                          const std::string& up_to);

} // namespace troupe
