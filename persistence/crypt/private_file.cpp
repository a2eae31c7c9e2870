// private_file: opening, checking and reading files with secrets.
#include "persistence/crypt/private_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

std::string text_of_errno(int number) {
  return std::generic_category().message(number);
}

// Checks the open file, not the file that has its name by then.
std::string flaw_of_open_file(int fd, bool is_private) {
  struct stat info {};
  if (fstat(fd, &info) != 0)
    return text_of_errno(errno);
  if (!S_ISREG(info.st_mode))
    return "not a regular file";
  if (is_private && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return "users other than its owner can read or change it: chmod 600";
  if (is_private && info.st_uid != geteuid() && info.st_uid != 0)
    return "the file belongs to another user";
  return {};
}

} // namespace

owned_descriptor::~owned_descriptor() {
  if (fd_ >= 0)
    ::close(fd_);
}

int owned_descriptor::take() noexcept {
  return std::exchange(fd_, -1);
}

wiped_text::~wiped_text() {
  ::explicit_bzero(bytes_.data(), bytes_.size());
}

std::string wiped_text::read(const std::filesystem::path& file, std::size_t bytes_max,
                             bool is_private) {
  owned_descriptor from{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  if (!from)
    return text_of_errno(errno);
  if (auto flaw = flaw_of_open_file(from.fd(), is_private); !flaw.empty())
    return flaw;
  bytes_.resize(bytes_max + 1); // allocated at once: a string that grows leaves copies in memory
  std::size_t size = 0;
  while (size < bytes_.size()) {
    auto got = ::read(from.fd(), bytes_.data() + size, bytes_.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return text_of_errno(errno);
    if (got == 0)
      break;
    size += static_cast<std::size_t>(got);
  }
  if (size > bytes_max)
    return "more than " + std::to_string(bytes_max) + " bytes";
  bytes_.resize(size);
  return {};
}

} // namespace troupe
