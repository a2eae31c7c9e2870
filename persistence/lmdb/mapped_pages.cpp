// mapped_pages: found in /proc/self/maps, since LMDB does not tell where its map is.
#include "persistence/lmdb/mapped_pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <new>
#include <sstream>
#include <string>

namespace troupe {

namespace {

// A line is "BEGIN-END rw-s OFFSET DEVICE INODE PATH", with hexadecimal addresses. The device is
// not compared: some file systems show another one here than stat() does.
void release_line(const std::string& line, ino_t inode) {
  std::istringstream words{line};
  std::string range, permissions, offset, device;
  std::uint64_t found = 0;
  if (!(words >> range >> permissions >> offset >> device >> found) || found != inode
      || permissions.back() != 's')
    return;
  std::uintptr_t begin = 0, end = 0;
  const auto* const last = range.data() + range.size();
  auto first = std::from_chars(range.data(), last, begin, 16);
  if (first.ec == std::errc{} && first.ptr != last
      && std::from_chars(first.ptr + 1, last, end, 16).ec == std::errc{} && end > begin)
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

} // namespace

void release_mapped_pages(int file) noexcept {
  struct stat info {};
  if (::fstat(file, &info) != 0)
    return;
  try {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);)
      release_line(line, info.st_ino);
  } catch (const std::bad_alloc&) {
    return; // another time
  }
}

} // namespace troupe
