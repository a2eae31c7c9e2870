// runtime_marks: marks as file locks. A mark is a byte of the file, which may lie past its end. Its
// lock belongs to an open file description, so two runtimes of one process do not share it.
#include "persistence/lmdb/runtime_marks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace troupe {

namespace {

class open_file {
public:
  open_file(const std::filesystem::path& file, int flags)
    : fd_{::open(file.c_str(), flags | O_CLOEXEC, 0600)} {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int fd() const noexcept { return fd_; }

private:
  int fd_;
};

struct flock lock_of(std::uint32_t mark) {
  struct flock out {};
  out.l_type = F_WRLCK;
  out.l_whence = SEEK_SET;
  out.l_start = mark;
  out.l_len = 1;
  return out;
}

error failed(const char* what, const std::filesystem::path& file) {
  return {errc::storage_failed,
          std::string{what} + ": " + std::generic_category().message(errno) + ": " + file.string()};
}

} // namespace

result<std::shared_ptr<void>> runtime_marks::announce(std::uint32_t mark) const {
  auto file = std::make_shared<open_file>(file_, O_RDWR | O_CREAT);
  if (file->fd() < 0)
    return failed("open the list of runtimes", file_);
  auto lock = lock_of(mark);
  if (::fcntl(file->fd(), F_OFD_SETLK, &lock) == 0)
    return std::shared_ptr<void>{std::move(file)};
  if (errno == EAGAIN || errno == EACCES)
    return error{errc::conflict, "announce a runtime: another runtime has the same mark"};
  return failed("announce a runtime", file_);
}

result<bool> runtime_marks::is_there(std::uint32_t mark) const {
  open_file file{file_, O_RDWR};
  if (file.fd() < 0 && errno == ENOENT)
    return false;
  if (file.fd() < 0)
    return failed("open the list of runtimes", file_);
  auto lock = lock_of(mark);
  if (::fcntl(file.fd(), F_OFD_GETLK, &lock) != 0)
    return failed("look for a runtime", file_);
  return lock.l_type != F_UNLCK;
}

} // namespace troupe
