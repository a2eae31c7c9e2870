// The store of a data directory as a file: what the tools of data_dir.hpp need of a saver.
#pragma once

#include <troupe/saver.hpp>

#include <filesystem>
#include <memory>

namespace troupe {

class lmdb_env;

/// A saver in an LMDB file.
class lmdb_store : public saver {
public:
  virtual lmdb_env& env() noexcept = 0;
};

/// The store of a data directory that holds one.
/// Errors: storage_failed when there is none; as open_lmdb_saver.
result<std::shared_ptr<lmdb_store>> open_existing_store(const std::filesystem::path& dir);

} // namespace troupe
