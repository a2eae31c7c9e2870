// lmdb_documents: the documents of one server, in a file of its data directory.
#pragma once

#include "server/documents/document_store.hpp"

#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>

#include <filesystem>
#include <memory>
#include <optional>

namespace troupe::server {

/// Units:  `map_size_bytes_max`: the largest size of the file; address space, not memory. Bodies of
///         at least `compress_bytes_min` bytes are compressed; SIZE_MAX: never.
struct lmdb_documents_options {
  std::size_t map_size_bytes_max = limits::store_map_bytes_default;
  std::size_t compress_bytes_min = limits::compress_bytes_min;
};

/// The documents in a data directory, which is made when it is missing. With keys, documents that
/// are stored from now on are encrypted (AES-256-GCM); ids and members with an index stay plain.
/// Older plain documents stay readable. Calls for one directory return the same store while it
/// lives.
/// Order:  one writer thread gathers commits into transactions, with one sync each.
/// Errors: storage_failed, storage_full, storage_locked, format_too_new; checkpoint_corrupt for
///         another program's file; invalid_config: the store is open with other keys. A store whose
///         file is full can still remove documents, in commits that only remove.
result<std::shared_ptr<document_store>> open_lmdb_documents(
  const std::filesystem::path& directory, std::shared_ptr<const key_provider> keys = nullptr,
  lmdb_documents_options options = {});

/// Marks an existing data directory as served, until the returned object is destroyed: two servers
/// on it would take up each other's runs.
/// Errors: storage_locked when another server has marked it; storage_failed.
result<std::shared_ptr<void>> mark_as_served(const std::filesystem::path& directory);

/// Wraps the data key of a directory's documents under the current key of `keys`, which is not null
/// and also has the older keys. True when it was under another key; nullopt for plain documents, or
/// a directory without documents.
/// Errors: as rotate_store_keys.
result<std::optional<bool>> rotate_documents_key(const std::filesystem::path& directory,
                                                 std::shared_ptr<const key_provider> keys);

} // namespace troupe::server
