#include "persistence/data_directory.hpp"

#include "persistence/lmdb_file.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace troupe {

namespace {

error directory_error(int code, const std::filesystem::path& dir) {
  return lmdb_error(code, "open the data directory", dir);
}

} // namespace

result<std::string> make_data_directory(const std::filesystem::path& dir) {
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return directory_error(errno, dir);
  std::error_code failed;
  auto path = std::filesystem::canonical(dir, failed);
  if (failed)
    return directory_error(failed.value(), dir);
  if (!std::filesystem::is_directory(path, failed))
    return directory_error(ENOTDIR, dir);
  if (auto synced = sync_directory(path.parent_path()); !synced)
    return synced.error();
  return path.string();
}

} // namespace troupe
