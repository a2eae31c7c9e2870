// The process keeps memory that it freed, so that large results cost no page faults again.
#include "coordinator/freed_memory.hpp"

#include <troupe/troupe.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

#include <sys/resource.h>

#if defined(__GLIBC__) && !defined(TROUPE_SANITIZE) // whose allocator is another one

namespace troupe {
namespace {

constexpr std::size_t piece_bytes = 512;

long page_faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

void use_and_free(std::size_t bytes) {
  std::vector<std::unique_ptr<char[]>> pieces(bytes / piece_bytes);
  for (auto& piece : pieces)
    piece = std::make_unique<char[]>(piece_bytes);
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_freed_memory)

BOOST_AUTO_TEST_CASE(a_large_result_costs_page_faults_once) {
  runtime rt;
  constexpr auto bytes = kept_freed_bytes / 4;
  use_and_free(bytes);
  auto before = page_faults();
  for (int i = 0; i < 10; ++i)
    use_and_free(bytes);
  constexpr long pages = bytes / 4096;
  BOOST_TEST(page_faults() - before < pages / 4);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe

#endif
