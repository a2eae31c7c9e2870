// item_snapshot: the contents of a long-term store's file, as one read transaction sees them.
#pragma once

#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/store/store_backend.hpp"

#include <troupe/keyring.hpp>

#include <memory>

namespace troupe {

/// The items of a file that item_change made. A damaged record is reported when it is read; only a
/// damaged vector counts as missing.
/// Shape:  `keys` may be null; they must outlive the snapshot.
/// Errors: storage codes, checkpoint_corrupt, format_too_new; the snapshot's members also
///         key_missing.
result<std::unique_ptr<store_snapshot>> read_items(lmdb_env& env, const key_provider* keys);

} // namespace troupe
