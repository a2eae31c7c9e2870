// Preloaded into a program (LD_PRELOAD): its n-th call of a kind fails, once or from then on.
//
// Kinds: malloc (every allocation), write (into a regular file), sync (fsync, fdatasync and writes
// into a file opened with O_DSYNC), mmap (of a file), ftruncate. Armed by the program, through
// troupe_fail (dlsym), or from its start by TROUPE_FAIL=KIND:N:ERRNO:once|forever; N of 0 only
// counts. ERRNO 0 makes a write come out short. TROUPE_FAIL_CALLS names a file that gets the number
// of calls at the end. Calls within libc (the stacks of threads) are not seen.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

enum kind : int { none, malloc_call, write_call, sync_call, mmap_call, ftruncate_call };

std::atomic<int> armed = none;
std::atomic<long> calls = 0;
long failing_from = 0;
bool fails_for_good = false;
int error_number = 0;

kind kind_of(const char* name) {
  const char* names[] = {"", "malloc", "write", "sync", "mmap", "ftruncate"};
  for (int k = malloc_call; k <= ftruncate_call; ++k)
    if (std::strcmp(name, names[k]) == 0)
      return static_cast<kind>(k);
  std::fprintf(stderr, "failing_calls: no kind is called %s\n", name);
  std::abort();
}

bool fails(kind k) {
  if (armed.load(std::memory_order_relaxed) != k)
    return false;
  auto n = calls.fetch_add(1) + 1;
  return n == failing_from || (n > failing_from && fails_for_good);
}

bool is_regular(int fd) {
  struct stat file {};
  return fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

bool write_fails(int fd) {
  if (armed == write_call)
    return is_regular(fd) && fails(write_call);
  return armed == sync_call && (fcntl(fd, F_GETFL) & O_DSYNC) != 0 && fails(sync_call);
}

template <class Fn> Fn* next(const char* name) {
  return reinterpret_cast<Fn*>(dlsym(RTLD_NEXT, name));
}

int refuse() {
  errno = error_number;
  return -1;
}

} // namespace

extern "C" {

// The n-th call from now on; n of 0: none, only counts.
void troupe_fail(const char* name, long nth, int error, bool for_good) {
  armed = none;
  calls = 0;
  failing_from = nth == 0 ? -1 : nth;
  error_number = error;
  fails_for_good = for_good && nth != 0;
  armed = kind_of(name);
}

// Disarms; how many calls there were.
long troupe_fail_no_more() {
  armed = none;
  return calls;
}

__attribute__((constructor)) void arm_by_environment() {
  const auto* text = std::getenv("TROUPE_FAIL");
  char name[16];
  char how[16];
  long nth = 0;
  int error = 0;
  if (text && std::sscanf(text, "%15[a-z]:%ld:%d:%15s", name, &nth, &error, how) == 4)
    troupe_fail(name, nth, error, std::strcmp(how, "forever") == 0);
}

__attribute__((destructor)) void report_calls() {
  const auto* name = std::getenv("TROUPE_FAIL_CALLS");
  auto made = troupe_fail_no_more();
  if (auto* file = name ? std::fopen(name, "w") : nullptr) {
    std::fprintf(file, "%ld\n", made);
    std::fclose(file);
  }
}

// ---- memory

void* malloc(size_t size) {
  if (fails(malloc_call)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

void* calloc(size_t n, size_t size) {
  if (fails(malloc_call)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(n, size);
}

void* realloc(void* p, size_t size) {
  if (size != 0 && fails(malloc_call)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(p, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  if (fails(malloc_call)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** p, size_t alignment, size_t size) {
  if (fails(malloc_call))
    return ENOMEM;
  *p = __libc_memalign(alignment, size);
  return *p ? 0 : ENOMEM;
}

// ---- files

ssize_t write(int fd, const void* data, size_t size) {
  static auto* real = next<ssize_t(int, const void*, size_t)>("write");
  if (!write_fails(fd))
    return real(fd, data, size);
  return error_number ? refuse() : real(fd, data, size / 2);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  static auto* real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  if (!write_fails(fd))
    return real(fd, data, size, at);
  return error_number ? refuse() : real(fd, data, size / 2, at);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  return pwrite64(fd, data, size, at);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* real = next<ssize_t(int, const iovec*, int)>("writev");
  if (!write_fails(fd))
    return real(fd, parts, count);
  return error_number ? refuse() : real(fd, parts, count / 2);
}

ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t at) {
  static auto* real = next<ssize_t(int, const iovec*, int, off64_t)>("pwritev64");
  if (!write_fails(fd))
    return real(fd, parts, count, at);
  return error_number ? refuse() : real(fd, parts, count / 2, at);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t at) {
  return pwritev64(fd, parts, count, at);
}

int fsync(int fd) {
  static auto* real = next<int(int)>("fsync");
  return fails(sync_call) ? refuse() : real(fd);
}

int fdatasync(int fd) {
  static auto* real = next<int(int)>("fdatasync");
  return fails(sync_call) ? refuse() : real(fd);
}

int ftruncate64(int fd, off64_t size) {
  static auto* real = next<int(int, off64_t)>("ftruncate64");
  return fails(ftruncate_call) ? refuse() : real(fd, size);
}

int ftruncate(int fd, off_t size) {
  return ftruncate64(fd, size);
}

void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) {
  static auto* real = next<void*(void*, size_t, int, int, int, off64_t)>("mmap64");
  if (fd >= 0 && fails(mmap_call)) {
    errno = error_number;
    return MAP_FAILED;
  }
  return real(at, size, protection, flags, fd, offset);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, size, protection, flags, fd, offset);
}

} // extern "C"
