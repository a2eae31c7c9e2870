// lmdb_pruner: removes checkpoints and values that are not needed. One transaction finds them. They
// are removed in pieces, each in a transaction with other requests.
// Checkpoints go first. Then a later transaction finds the values that no checkpoint refers to. A
// checkpoint that was stored in between resumes from one that stays (lmdb_writer checks), so it
// refers to no value that goes.
#pragma once

#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_writer.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/retention.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The records to remove from one thread.
struct removal {
  std::vector<std::string> keys;        // in order; a small value by the key of its own record
  std::vector<namespace_entry> emptied; // namespaces left without checkpoints and writes
  std::vector<std::string> own_values;  // small values in checkpoints that go, as in `keys`
  std::size_t counted = 0;              // of what prune_report counts
};

/// Finds the checkpoints that neither the rule nor a remaining checkpoint needs, with their writes.
/// Errors: (also of all functions below) checkpoint_corrupt, format_too_new, key_missing,
///         storage_failed.
result<removal> find_checkpoints_to_remove(thread_records& records, std::uint64_t thread,
                                           const retention_rule& mark);

/// Finds the values that no checkpoint refers to and no patch builds on, and the empty namespaces.
/// Counts also those of `own_values`, of removed checkpoints, that no checkpoint refers to.
result<removal> find_values_to_remove(thread_records& records, std::uint64_t thread,
                                      std::span<const std::string> own_values = {});

/// Cuts a removal into pieces of limits::prune_records_max keys, at least one piece.
std::vector<removal> cut_to_pieces(removal all);

/// Removes a piece, within a transaction of the writer. Afterwards no writer, also of another
/// process, builds a patch on a value that was stored before. Only that makes it safe to remove
/// values.
result<void> remove(lmdb_writer& writer, const std::string& thread_id, const removal& piece);

} // namespace troupe
