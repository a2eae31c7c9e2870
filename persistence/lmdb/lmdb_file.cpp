#include "persistence/lmdb/lmdb_file.hpp"

#include "graph/crash_point.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/crypt/private_file.hpp"

#include <troupe/limits.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
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

// LMDB would wait for good for a process that holds the lock file for itself. Others hold it so
// only while they open the store: that much is waited for.
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

// Whether the file is what LMDB leaves when the disk fills up, or the power goes, while it makes
// one: the beginning of its two meta pages, or zeros. Such a file has never held anything.
bool is_unborn(int fd) {
  constexpr std::size_t metas = 2 * 4096;
  std::array<char, metas + 1> bytes;
  auto size = ::pread(fd, bytes.data(), bytes.size(), 0);
  if (size <= 0 || static_cast<std::size_t>(size) > metas)
    return false;
  std::string_view begin{bytes.data(), static_cast<std::size_t>(size)};
  if (begin.find_first_not_of('\0') == begin.npos)
    return true;
  constexpr std::uint32_t magic = 0xbeefc0de;
  constexpr std::size_t magic_at = 16; // behind the page's head
  return begin.size() >= magic_at + sizeof magic && begin.size() < metas
         && std::memcmp(&begin[magic_at], &magic, sizeof magic) == 0;
}

// Alone with the store, empties a file that was left unborn, which LMDB would refuse for good.
void clear_unborn(const std::filesystem::path& store, int lock_fd) {
  owned_descriptor file{::open(store.c_str(), O_RDWR | O_CLOEXEC)};
  auto alone = store_lock(F_WRLCK);
  if (file && is_unborn(file.fd()) && ::fcntl(lock_fd, F_SETLK, &alone) == 0
      && is_unborn(file.fd()))
    static_cast<void>(!::ftruncate(file.fd(), 0));
}

// The lock file is written through a map, and where the disk has no room for it that ends the
// process (SIGBUS). 0 or an errno.
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
    return 0; // not ours to open: LMDB tells
  if (!becomes_free(lock.fd()))
    return EAGAIN;
  if (auto failed = allocate(lock.fd()); failed != 0)
    return failed;
  clear_unborn(store, lock.fd());
  return 0;
}

// LMDB writes the first pages of a file in place, and takes one that the power cut short for no
// file of its own. So a new file is made under another name, and gets its name when it is on the
// disk. Whoever comes second, of two processes that make it at once, takes the file of the first.
int make_lmdb_file(const std::filesystem::path& file, std::size_t map_size_bytes) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed) || failed)
    return 0; // LMDB tells what is wrong
  auto draft = file;
  draft += "-new-" + std::to_string(getpid());
  ::unlink(draft.c_str()); // of a process of the same number that was killed here
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
  crash_point("make.draft");
  bool linked = rc == 0 && ::link(draft.c_str(), file.c_str()) == 0;
  auto why = linked || rc != 0 ? rc : errno;
  ::unlink(draft.c_str());
  // Where files can't have two names, LMDB makes it in place.
  return why == EEXIST || why == EPERM || why == EOPNOTSUPP || why == EMLINK ? 0 : why;
}

result<void> sync_directory(const std::filesystem::path& dir) {
  int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return {}; // not ours to read
  auto rc = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return rc == 0 ? result<void>{} : lmdb_error(rc, "sync the directory", dir);
}

} // namespace troupe
