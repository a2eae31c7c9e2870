// data_directory: finds or makes a data directory.
#include "persistence/lmdb/data_directory.hpp"

#include "persistence/lmdb/lmdb_setup.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace troupe {

namespace {

error directory_error(int code, const std::filesystem::path& dir) {
  return lmdb_error(code, "open the data directory", dir);
}

} // namespace

result<std::string> find_data_directory(const std::filesystem::path& dir) {
  std::error_code failed;
  auto path = std::filesystem::canonical(dir, failed);
  if (failed)
    return directory_error(failed.value(), dir);
  if (!std::filesystem::is_directory(path, failed))
    return directory_error(ENOTDIR, dir);
  return path.string();
}

result<std::string> make_data_directory(const std::filesystem::path& dir) {
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return directory_error(errno, dir);
  auto path = find_data_directory(dir);
  if (!path)
    return path;
  if (auto synced = sync_directory(std::filesystem::path{*path}.parent_path()); !synced)
    return synced.error();
  return path;
}

} // namespace troupe
