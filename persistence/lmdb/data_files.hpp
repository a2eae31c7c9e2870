// data_files: the files of a data directory, and the functions on savers and stores that
// data_dir.hpp needs.
#pragma once

#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/writer_saver.hpp"

#include <troupe/keyring.hpp>
#include <troupe/saver.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

// The files of a data directory. The cache's file can be removed without loss.
inline constexpr std::string_view saver_file_name = "troupe.mdb";
inline constexpr std::string_view store_file_name = "store.mdb";
inline constexpr std::string_view cache_file_name = "cache.mdb";
inline constexpr std::string_view documents_file_name = "server.mdb";    // of troupe::server
inline constexpr std::string_view runtimes_file_name = "runtimes.lock";  // see runtime_marks.hpp
inline constexpr std::string_view server_mark_file_name = "server.lock"; // see mark_as_served()

/// Whether an object that was opened with the keys `has` serves a caller that asks for `wanted`. A
/// caller with keys never gets an unencrypted one. Either may be null.
inline bool serves_keys(const key_provider* has, const key_provider* wanted) noexcept {
  return !wanted || (has && has->is_same(*wanted));
}

/// An invalid_config error. Shape: `what` is "store" or "cache", `path` its place.
error open_with_other_keys(std::string_view what, const std::string& path);

/// A saver in an LMDB file.
class file_saver : public writer_saver {
public:
  virtual lmdb_env& env() noexcept = 0;
  /// The keys with which the saver was opened; may be null.
  virtual const key_provider* keys() const noexcept = 0;
  /// As rotate_store_keys, with the saver's keys, which must exist.
  virtual result<rotation_report> rewrap_keys() = 0;
};

/// A saver's file, as lmdb_env::open.
result<std::unique_ptr<lmdb_env>> open_saver_file(std::filesystem::path file,
                                                  std::size_t map_size_bytes,
                                                  lmdb_access access = lmdb_access::read_write);

/// The saver of an existing data directory; read-only when this user may not write.
/// Errors: storage_failed when the directory has no saver; as open_lmdb_saver.
result<std::shared_ptr<file_saver>> open_existing_saver(
  const std::filesystem::path& dir, std::shared_ptr<const key_provider> keys = {});

/// Copies the long-term store of a data directory (a canonical path) to a new file. Returns its
/// size.
/// Errors: as lmdb_env::copy_to; as open_lmdb_store.
result<std::uint64_t> copy_store_file(const std::string& dir, const std::filesystem::path& to,
                                      bool compact);

/// The environment of the server's documents in a data directory (a canonical path). Calls for one
/// directory return the same environment while it lives.
/// Errors: as lmdb_env::open.
result<std::shared_ptr<lmdb_env>> open_documents_file(const std::string& dir,
                                                      std::size_t map_size_bytes);

/// As copy_store_file, for the server's documents.
result<std::uint64_t> copy_documents_file(const std::string& dir, const std::filesystem::path& to,
                                          bool compact);

/// Wraps the data key of a file (the long-term store's or the cache's) under the ring's current
/// key. `dir` is canonical, and `keys` is not null. True when the data key was under another key;
/// nullopt for a plain file.
/// Errors: as rotate_store_keys.
result<std::optional<bool>> rewrap_store_key(const std::string& dir,
                                             std::shared_ptr<const key_provider> keys);
result<std::optional<bool>> rewrap_cache_key(const std::string& dir,
                                             std::shared_ptr<const key_provider> keys);

} // namespace troupe
