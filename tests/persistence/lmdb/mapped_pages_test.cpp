// Pages of mapped files: a store's file grows, and the process that writes and reads it does not.
#include "persistence/lmdb/mapped_pages.hpp"

#include "persistence/lmdb/lmdb_env.hpp"
#include "tests/fixtures/savers.hpp"

#include <troupe/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

namespace troupe::test {
namespace {

constexpr std::size_t mebibyte = 1u << 20;

/// Resident bytes of mapped files, of this process.
std::size_t mapped_bytes() {
  std::size_t size = 0, resident = 0, of_files = 0;
  std::ifstream{"/proc/self/statm"} >> size >> resident >> of_files;
  return of_files * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

BOOST_AUTO_TEST_SUITE(mapped_pages)

BOOST_AUTO_TEST_CASE(pages_of_a_shared_map_are_released_and_keep_their_bytes) {
  temporary_directory dir;
  const auto path = dir.path() / "file";
  std::ofstream{path} << std::string(8 * mebibyte, 'x');
  auto file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  BOOST_REQUIRE(file >= 0);
  auto* map =
    static_cast<char*>(::mmap(nullptr, 8 * mebibyte, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  BOOST_REQUIRE(map != MAP_FAILED);
  for (std::size_t at = 0; at < 8 * mebibyte; at += 4096)
    map[at] = 'y';
  auto before = mapped_bytes();
  release_mapped_pages(file);
  BOOST_TEST(before - mapped_bytes() >= 7 * mebibyte);
  BOOST_TEST(map[0] == 'y'); // also what the disk does not have yet
  BOOST_TEST(map[8 * mebibyte - 1] == 'x');
  ::munmap(map, 8 * mebibyte);
  ::close(file);
}

BOOST_AUTO_TEST_CASE(a_file_that_grows_stays_out_of_memory) {
  temporary_directory dir;
  auto env = lmdb_env::open(dir.path() / "store.mdb", 1024 * mebibyte).value();
  const auto before = mapped_bytes();
  const std::string data(mebibyte, 'x');
  constexpr std::size_t count = 3 * limits::store_mapped_growth / mebibyte;
  std::size_t most = 0;
  for (std::size_t n = 0; n < count; ++n) {
    auto txn = env->begin_write().value();
    txn.put("key " + std::to_string(n), data).value();
    txn.commit().value();
    auto reading = env->begin_read().value();
    BOOST_TEST(*reading.get("key " + std::to_string(n)).value() == data);
    most = std::max(most, mapped_bytes() - before);
  }
  BOOST_TEST(most > limits::store_mapped_growth / 2);
  BOOST_TEST(most < 3 * limits::store_mapped_growth / 2);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test
