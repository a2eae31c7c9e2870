// data_directory: finds or makes a data directory, and opens its file of a server's documents.
#include "persistence/lmdb/data_directory.hpp"

#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_setup.hpp"

#include <troupe/limits.hpp>

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

result<std::shared_ptr<lmdb_env>> open_documents_file(const std::string& dir,
                                                      std::size_t map_size_bytes) {
  auto file = std::filesystem::path{dir} / documents_file_name;
  return open_objects<lmdb_env>::of_this_process().find_or_open(file.string(), [&] {
    return lmdb_env::open(file, map_size_bytes);
  });
}

result<std::uint64_t> copy_documents_file(const std::string& dir, const std::filesystem::path& to,
                                          bool compact) {
  auto file = std::filesystem::path{dir} / documents_file_name;
  if (possible_access(file) == lmdb_access::read_only) {
    auto env = lmdb_env::open(file, limits::store_map_bytes_min, {}, lmdb_access::read_only);
    return env ? (*env)->copy_to(to, compact) : env.error();
  }
  auto env = open_documents_file(dir, limits::store_map_bytes_default);
  return env ? (*env)->copy_to(to, compact) : env.error();
}

} // namespace troupe
