// index_list: elements inside and outside the list, copies and moves.
#include "graph/index_list.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <utility>
#include <vector>

namespace data = boost::unit_test::data;

namespace troupe {
namespace {

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < count; ++i)
    out.push_back(7 * i + 1);
  return out;
}

index_list list_of(std::uint32_t count) {
  index_list out;
  for (auto number : numbers(count))
    out.push_back(number);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_index_list)

BOOST_DATA_TEST_CASE(a_list_holds_what_was_added_in_order, data::xrange(0u, 70u), count) {
  auto list = list_of(count);
  BOOST_TEST(list.size() == count);
  BOOST_TEST(list.empty() == (count == 0));
  BOOST_TEST((list == numbers(count)));
  BOOST_TEST((index_list{std::span<const std::uint32_t>{numbers(count)}} == list));
}

BOOST_DATA_TEST_CASE(a_copy_is_independent, data::make({0u, 1u, 2u, 3u, 4u, 9u}), count) {
  auto list = list_of(count);
  auto copy = list;
  copy.push_back(5);
  BOOST_TEST((list == numbers(count)));
  BOOST_TEST(copy.size() == count + 1);
  BOOST_TEST((copy != list));
  list = copy;
  BOOST_TEST((list == copy));
  list = list_of(1);
  BOOST_TEST((list == numbers(1)));
}

BOOST_DATA_TEST_CASE(a_moved_list_is_empty, data::make({0u, 2u, 3u, 5u}), count) {
  auto list = list_of(count);
  auto moved = std::move(list);
  BOOST_TEST((moved == numbers(count)));
  BOOST_TEST(list.empty());
  list.push_back(3);
  BOOST_TEST((list == std::vector<std::uint32_t>{3}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
