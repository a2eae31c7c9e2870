// A library to preload: records what a program writes below a folder, and when it is synced.
//
//   TROUPE_POWER_FOLDER  the folder
//   TROUPE_POWER_LOG     the file of the record: entries, each with the bytes that belong to it
//   TROUPE_POWER_LIES    the calls that the disk only pretends to do: "sync", or "through" for
//                        writes that are synced with themselves
//
// A write is recorded before it is made, a sync after it. Files are known by their inode.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

namespace {

enum class op : std::uint32_t { name, write, synced, truncate, unlink, write_through };

struct entry {
  op what;
  std::uint32_t size; // of the bytes that follow
  std::uint64_t file; // its inode
  std::uint64_t at;   // offset; of a name: the folder's inode; of a truncation: the length
};

struct open_file {
  std::uint64_t inode = 0; // 0: not ours
  bool writes_through = false;
};

constexpr std::size_t descriptors_max = 4096;

struct recording {
  std::mutex mutex;
  std::string folder;
  int log = -1;
  std::string lies;
  std::array<open_file, descriptors_max> files;
};

template <class Fn> Fn* next(const char* name) {
  return reinterpret_cast<Fn*>(dlsym(RTLD_NEXT, name));
}

#define NEXT(name) static auto* const next_##name = next<decltype(::name)>(#name)

recording& the_recording() {
  static auto& r = *[] {
    auto* made = new recording;
    const char* folder = std::getenv("TROUPE_POWER_FOLDER");
    const char* log = std::getenv("TROUPE_POWER_LOG");
    made->folder = folder ? std::string{folder} + "/" : "";
    const char* lies = std::getenv("TROUPE_POWER_LIES");
    made->lies = lies ? lies : "";
    if (log)
      made->log = static_cast<int>(
        next<decltype(::open)>("open")(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    return made;
  }();
  return r;
}

void put(recording& r, const entry& e, const void* bytes) {
  NEXT(writev);
  iovec parts[] = {{const_cast<entry*>(&e), sizeof e}, {const_cast<void*>(bytes), e.size}};
  if (next_writev(r.log, parts, 2) != static_cast<ssize_t>(sizeof e + e.size))
    std::abort();
}

std::uint64_t inode_of(const char* path) {
  struct stat s {};
  return stat(path, &s) == 0 ? s.st_ino : 0;
}

std::uint64_t folder_of(std::string path) {
  path.resize(path.rfind('/'));
  return inode_of(path.c_str());
}

bool is_ours(const recording& r, std::string_view path) {
  return r.log >= 0 && !r.folder.empty() && (std::string{path} + "/").starts_with(r.folder)
         && !path.ends_with("-lock");
}

open_file file_of(recording& r, int fd) {
  return fd >= 0 && fd < static_cast<int>(descriptors_max) ? r.files[static_cast<std::size_t>(fd)]
                                                           : open_file{};
}

void record_name(recording& r, const char* path) {
  put(r, {op::name, static_cast<std::uint32_t>(std::strlen(path)), inode_of(path), folder_of(path)},
      path);
}

template <class Open> int open_recorded(const char* path, int flags, Open open) {
  auto& r = the_recording();
  bool ours = is_ours(r, path);
  std::unique_lock lock{r.mutex, std::defer_lock};
  if (ours)
    lock.lock();
  bool made = ours && (flags & O_CREAT) != 0 && inode_of(path) == 0;
  if (r.lies == "through")
    flags &= ~(O_DSYNC | O_SYNC);
  int fd = open(flags);
  if (fd < 0 || fd >= static_cast<int>(descriptors_max))
    return fd;
  auto& file = r.files[static_cast<std::size_t>(fd)];
  file = {};
  if (!ours)
    return fd;
  if (made)
    record_name(r, path);
  file = {inode_of(path), (flags & (O_DSYNC | O_SYNC)) != 0};
  return fd;
}

// A write that goes through is durable with itself, which is recorded after it.
template <class Write>
ssize_t write_recorded(int fd, const iovec* parts, int count, off_t at, Write write) {
  auto& r = the_recording();
  auto file = file_of(r, fd);
  if (file.inode == 0)
    return write();
  std::scoped_lock lock{r.mutex};
  std::string bytes;
  for (int i = 0; i < count; ++i)
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  if (at < 0) {
    struct stat s {};
    fstat(fd, &s);
    at = (fcntl(fd, F_GETFL) & O_APPEND) != 0 ? s.st_size : lseek(fd, 0, SEEK_CUR);
  }
  put(r,
      {op::write, static_cast<std::uint32_t>(bytes.size()), file.inode,
       static_cast<std::uint64_t>(at)},
      bytes.data());
  auto written = write();
  if (written != static_cast<ssize_t>(bytes.size()))
    std::abort(); // a test with a full disk is another one
  if (file.writes_through)
    put(r, {op::write_through, 0, file.inode, 0}, "");
  return written;
}

template <class Sync> int sync_recorded(int fd, Sync sync) {
  auto& r = the_recording();
  auto file = file_of(r, fd);
  if (file.inode == 0)
    return sync();
  std::scoped_lock lock{r.mutex};
  struct stat s {};
  if (r.lies == "sync" && fstat(fd, &s) == 0 && S_ISREG(s.st_mode))
    return 0;
  auto rc = sync();
  if (rc == 0)
    put(r, {op::synced, 0, file.inode, 0}, "");
  return rc;
}

template <class Truncate> int truncate_recorded(int fd, off_t size, Truncate truncate) {
  auto& r = the_recording();
  auto file = file_of(r, fd);
  if (file.inode == 0)
    return truncate();
  std::scoped_lock lock{r.mutex};
  put(r, {op::truncate, 0, file.inode, static_cast<std::uint64_t>(size)}, "");
  return truncate();
}

void refuse_to_record(const char* what) {
  std::fprintf(stderr, "recorder: %s of a recorded file: not foreseen\n", what);
  std::abort();
}

mode_t mode_in(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

} // namespace

extern "C" {

#define RECORD_OPEN(name)                                                                          \
  int name(const char* path, int flags, ...) {                                                     \
    va_list more;                                                                                  \
    va_start(more, flags);                                                                         \
    auto mode = mode_in(flags, more);                                                              \
    va_end(more);                                                                                  \
    NEXT(name);                                                                                    \
    return open_recorded(path, flags, [&](int with) { return next_##name(path, with, mode); });    \
  }
RECORD_OPEN(open)
RECORD_OPEN(open64)

int close(int fd) {
  NEXT(close);
  auto& r = the_recording();
  if (file_of(r, fd).inode != 0)
    r.files[static_cast<std::size_t>(fd)] = {};
  return next_close(fd);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  NEXT(write);
  iovec part{const_cast<void*>(bytes), size};
  return write_recorded(fd, &part, 1, -1, [&] { return next_write(fd, bytes, size); });
}

ssize_t writev(int fd, const iovec* parts, int count) {
  NEXT(writev);
  return write_recorded(fd, parts, count, -1, [&] { return next_writev(fd, parts, count); });
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  NEXT(pwrite);
  iovec part{const_cast<void*>(bytes), size};
  return write_recorded(fd, &part, 1, at, [&] { return next_pwrite(fd, bytes, size, at); });
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  return pwrite(fd, bytes, size, at);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t at) {
  NEXT(pwritev);
  return write_recorded(fd, parts, count, at, [&] { return next_pwritev(fd, parts, count, at); });
}

ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t at) {
  return pwritev(fd, parts, count, at);
}

int fsync(int fd) {
  NEXT(fsync);
  return sync_recorded(fd, [&] { return next_fsync(fd); });
}

int fdatasync(int fd) {
  NEXT(fdatasync);
  return sync_recorded(fd, [&] { return next_fdatasync(fd); });
}

int ftruncate(int fd, off_t size) noexcept {
  NEXT(ftruncate);
  return truncate_recorded(fd, size, [&] { return next_ftruncate(fd, size); });
}

int ftruncate64(int fd, off64_t size) noexcept {
  return ftruncate(fd, size);
}

int fallocate(int fd, int mode, off_t at, off_t size) {
  NEXT(fallocate);
  if (file_of(the_recording(), fd).inode != 0)
    refuse_to_record("fallocate");
  return next_fallocate(fd, mode, at, size);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  NEXT(mmap);
  if ((protection & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0
      && file_of(the_recording(), fd).inode != 0)
    refuse_to_record("a shared map for writing");
  return next_mmap(at, size, protection, flags, fd, offset);
}

int mkdir(const char* path, mode_t mode) noexcept {
  NEXT(mkdir);
  auto& r = the_recording();
  if (!is_ours(r, path))
    return next_mkdir(path, mode);
  std::scoped_lock lock{r.mutex};
  auto rc = next_mkdir(path, mode);
  auto error = errno;
  if (rc == 0)
    record_name(r, path);
  errno = error;
  return rc;
}

int link(const char* from, const char* to) noexcept {
  NEXT(link);
  auto& r = the_recording();
  if (!is_ours(r, to))
    return next_link(from, to);
  std::scoped_lock lock{r.mutex};
  auto rc = next_link(from, to);
  auto error = errno;
  if (rc == 0)
    record_name(r, to);
  errno = error;
  return rc;
}

int unlink(const char* path) noexcept {
  NEXT(unlink);
  auto& r = the_recording();
  if (is_ours(r, path)) {
    std::scoped_lock lock{r.mutex};
    put(r,
        {op::unlink, static_cast<std::uint32_t>(std::strlen(path)), inode_of(path),
         folder_of(path)},
        path);
    return next_unlink(path);
  }
  return next_unlink(path);
}

int rename(const char* from, const char* to) noexcept {
  NEXT(rename);
  if (is_ours(the_recording(), to))
    refuse_to_record("a new name");
  return next_rename(from, to);
}

} // extern "C"
