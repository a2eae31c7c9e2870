// Pruning: what goes is read from one transaction and removed in pieces, each in a transaction with
// whatever else is stored then. First the checkpoints that don't stay, then, from a transaction
// begun later, the values that no checkpoint has. A checkpoint stored in between goes on from one
// that stays (lmdb_writer checks), so it has no value that goes.
#pragma once

#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_writer.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/retention.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// What is to be removed of one thread.
struct removal {
  std::vector<std::string> keys;        // in this order; of a small value the one it would have
  std::vector<namespace_entry> emptied; // namespaces left without checkpoints and writes
  std::size_t counted = 0;              // of what prune_report counts
};

/// Marks what stays.
using retention_rule = std::function<void(thread_summary&)>;

/// The checkpoints that neither the rule names nor those that stay need, with their writes.
/// Errors: of all below checkpoint_corrupt, format_too_new, key_missing, storage_failed.
result<removal> find_checkpoints_to_remove(thread_records& records, std::uint64_t thread,
                                           const retention_rule& mark);

/// The values that no checkpoint has and no patch builds on, and namespaces that hold nothing.
result<removal> find_values_to_remove(thread_records& records, std::uint64_t thread);

/// Cuts it into pieces of limits::prune_records_max keys, one at least.
std::vector<removal> cut_to_pieces(removal all);

/// Removes a piece, within a transaction of the writer. It, and the writers of other processes,
/// build no patch any more on a value stored before: no other one is safe to go.
result<void> remove(lmdb_writer& writer, const std::string& thread_id, const removal& piece);

} // namespace troupe
