// A list of parts that grows while parts leave at its front.
#include "coordinator/part_list.hpp"

#include <boost/test/unit_test.hpp>

#include <iterator>

namespace troupe {
namespace {

stream_part part_of(std::uint64_t number) {
  stream_part out;
  out.seq = number;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_part_list)

BOOST_AUTO_TEST_CASE(parts_leave_in_the_order_in_which_they_came) {
  part_list list;
  std::uint64_t came = 0, left = 0;
  BOOST_TEST(list.empty());
  while (left < 1000) {
    for (int i = 0; i < 3 && came < 1000; ++i) // it grows with its front anywhere
      list.push_back(part_of(++came));
    BOOST_TEST(list.size() == came - left);
    BOOST_TEST(list[list.size() - 1].seq == came);
    BOOST_TEST(list.front().seq == ++left);
    list.pop_front();
  }
  BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_CASE(lists_change_places_and_are_copied_in_part) {
  part_list list, other;
  for (std::uint64_t number = 1; number <= 20; ++number)
    list.push_back(part_of(number));
  list.pop_front();
  list.swap(other);
  BOOST_TEST(list.empty());
  const part_list rest{std::next(other.begin(), 9), other.end()};
  BOOST_TEST(rest.size() == 10u);
  BOOST_TEST(rest.front().seq == 11u);
  BOOST_TEST(other.size() == 19u);
  other.clear();
  other.push_back(part_of(7));
  BOOST_TEST(other.front().seq == 7u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
