// What a long-term store's file holds, as one read transaction sees it.
#pragma once

#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/store/store_backend.hpp"

#include <troupe/keyring.hpp>

#include <memory>

namespace troupe {

/// The items of a file that item_change made. What is damaged is told when it is met, but for
/// vectors, of which a damaged one is none.
/// Shape:  `keys` may be null; they outlive the snapshot.
/// Errors: storage codes, checkpoint_corrupt, format_too_new; of the snapshot's members also
///         key_missing.
result<std::unique_ptr<store_snapshot>> read_items(lmdb_env& env, const keyring* keys);

} // namespace troupe
