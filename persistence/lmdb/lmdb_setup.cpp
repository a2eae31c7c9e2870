// lmdb_setup: makes LMDB files, and makes them ready to open.
#include "persistence/lmdb/lmdb_setup.hpp"

#include "graph/crash_point.hpp"
#include "persistence/crypt/private_file.hpp"
#include "persistence/lmdb/lmdb_env.hpp"

#include <troupe/limits.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

namespace troupe {

namespace {

struct flock store_lock(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return lock;
}

// LMDB would wait without a limit for a process that holds the lock file alone. Processes do so
// only while they open the store, so this waits that long.
bool becomes_free(int lock_fd) {
  auto deadline = std::chrono::steady_clock::now() + limits::store_lock_wait;
  for (;;) {
    auto wanted = store_lock(F_RDLCK);
    if (::fcntl(lock_fd, F_GETLK, &wanted) != 0 || wanted.l_type == F_UNLCK)
      return true;
    if (std::chrono::steady_clock::now() >= deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

// Allocates the lock file. It is written through a map, where a full disk would end the process
// (SIGBUS). Returns 0 or an errno.
int allocate(int lock_fd) {
  constexpr off_t reader_slot = 64;
  auto failed = ::posix_fallocate(lock_fd, 0, (limits::store_readers_max + 4) * reader_slot);
  return failed == ENOSPC || failed == EDQUOT || failed == EFBIG ? failed : 0;
}

} // namespace

int make_lmdb_file_ready(const std::filesystem::path& store) {
  auto lock_file = store;
  lock_file += "-lock";
  owned_descriptor lock{::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!lock)
    return 0; // no access to the lock file: LMDB reports it
  if (!becomes_free(lock.fd()))
    return EAGAIN;
  return allocate(lock.fd());
}

std::filesystem::path draft_of(const std::filesystem::path& file) {
  static std::atomic<unsigned> drafts = 0; // two threads may copy to one name at once
  auto draft = file;
  draft += "-new-" + std::to_string(getpid()) + "-" + std::to_string(++drafts);
  ::unlink(draft.c_str()); // left by a killed process with the same number
  return draft;
}

// Neither call replaces an existing name. Some file systems lack links, some the second call.
int name_draft(const std::filesystem::path& draft, const std::filesystem::path& file) {
  crash_point("make.draft");
  auto failed = ::link(draft.c_str(), file.c_str()) == 0 ? 0 : errno;
  if (failed == EPERM || failed == EOPNOTSUPP || failed == EMLINK)
    failed = ::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0
               ? 0
               : errno;
  ::unlink(draft.c_str());
  return failed;
}

// LMDB writes the first pages of a file in place, and refuses a file without them after a kill or a
// power cut. When two processes make a file at once, the second uses the first's.
int make_lmdb_file(const std::filesystem::path& file, std::size_t map_size_bytes) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed) || failed)
    return 0; // LMDB reports the error
  auto draft = draft_of(file);
  MDB_env* env = nullptr;
  auto rc = mdb_env_create(&env);
  if (rc != 0)
    return rc;
  rc = mdb_env_set_mapsize(env, map_size_bytes);
  if (rc == 0)
    rc = mdb_env_open(env, draft.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0600);
  if (rc == 0)
    rc = mdb_env_sync(env, 1);
  mdb_env_close(env);
  if (rc != 0) {
    ::unlink(draft.c_str());
    return rc;
  }
  rc = name_draft(draft, file);
  return rc == EEXIST ? 0 : rc;
}

result<void> sync_directory(const std::filesystem::path& dir) {
  int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return {}; // no read access to the directory
  auto rc = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return rc == 0 ? result<void>{} : lmdb_error(rc, "sync the directory", dir);
}

} // namespace troupe
