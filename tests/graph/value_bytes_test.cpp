// The memory that a value keeps alive.
#include "graph/value_bytes.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe {

namespace {

constexpr std::size_t many = 1'000'000;

std::size_t bytes_of(const value& v, std::size_t looks = many) {
  return value_bytes(v, looks);
}

} // namespace

BOOST_AUTO_TEST_SUITE(value_bytes_of)

BOOST_AUTO_TEST_CASE(what_lies_in_the_handle_takes_no_memory) {
  for (const auto& v : {value(), value(true), value(1), value(0.5), value("short"), value::map()})
    BOOST_TEST(bytes_of(v) == 0u);
}

BOOST_AUTO_TEST_CASE(texts_count_with_all_their_bytes_wherever_they_are) {
  const value text(std::string(1000, 'x'));
  BOOST_TEST(bytes_of(text) >= 1000u);
  BOOST_TEST(bytes_of(text) < 1100u);
  auto nested = value::map({{"list", value::list({1, text, value::map({{"text", text}})})}});
  BOOST_TEST(bytes_of(nested) >= 2000u); // a part that is there twice counts twice
  BOOST_TEST(bytes_of(nested) < 2400u);
}

BOOST_AUTO_TEST_CASE(the_slots_of_a_list_count_also_beyond_the_looks) {
  std::vector<value> items(10'000, value(std::string(1000, 'x')));
  const auto list = value::list(std::move(items));
  std::size_t looks = 10;
  auto bytes = value_bytes(list, looks);
  BOOST_TEST(looks == 0u);
  BOOST_TEST(bytes >= 10'000 * sizeof(value) + 10 * 1000);
  BOOST_TEST(bytes < 10'000 * sizeof(value) + 11 * 1100);
}

BOOST_AUTO_TEST_CASE(a_deep_value_needs_no_deep_stack) {
  auto deep = value(std::string(100, 'x'));
  for (int i = 0; i < 100'000; ++i)
    deep = value::list({deep});
  BOOST_TEST(bytes_of(deep) >= 100'000 * sizeof(value));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
