// The store of a data directory as a file: what the tools of data_dir.hpp need of a saver.
#pragma once

#include <troupe/keyring.hpp>
#include <troupe/saver.hpp>

#include <filesystem>
#include <memory>
#include <string_view>

namespace troupe {

class lmdb_env;

inline constexpr std::string_view store_file_name = "troupe.mdb"; // in a data directory

/// A saver in an LMDB file.
class lmdb_store : public saver {
public:
  virtual lmdb_env& env() noexcept = 0;
  /// What it was opened with; may be null.
  virtual const keyring* keys() const noexcept = 0;
  /// As rotate_store_keys, with these keys, which are there.
  virtual result<rotation_report> rewrap_keys() = 0;
};

/// The file of a store, as lmdb_env::open.
result<std::unique_ptr<lmdb_env>> open_store_file(std::filesystem::path file,
                                                  std::size_t map_size_bytes);

/// The store of a data directory that holds one.
/// Errors: storage_failed when there is none; as open_lmdb_saver.
result<std::shared_ptr<lmdb_store>> open_existing_store(const std::filesystem::path& dir,
                                                        std::shared_ptr<const keyring> keys = {});

} // namespace troupe
