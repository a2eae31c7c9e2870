// The numbers that a page of checkpoints has for names.
#include "persistence/checkpoint_page.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {

namespace {

std::string name_of(std::uint32_t in_table) {
  return "channel " + std::to_string(in_table);
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_checkpoint_page)

// The numbers of a saver's table are far apart, and some meet in a table of a power of two.
BOOST_AUTO_TEST_CASE(names_have_the_numbers_in_which_they_were_met) {
  page_names names;
  names.use(1);
  std::vector<std::uint32_t> in_table;
  for (std::uint32_t i = 0; i < 200; ++i)
    in_table.push_back(i % 2 == 0 ? 1024 * i : UINT32_MAX - i);
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < in_table.size(); ++i) {
      BOOST_TEST(names.number(in_table[i], name_of(in_table[i])) == i);
      BOOST_TEST(names[i] == name_of(in_table[i]));
    }
  BOOST_TEST(names.size() == in_table.size());
}

BOOST_AUTO_TEST_CASE(names_of_another_table_are_forgotten) {
  page_names names;
  names.use(1);
  for (std::uint32_t i = 0; i < 40; ++i)
    names.number(i, name_of(i));
  names.use(1);
  BOOST_TEST(names.size() == 40u);
  names.use(2);
  BOOST_TEST(names.size() == 0u);
  BOOST_TEST(names.number(7, "other") == 0u);
  BOOST_TEST(names[0] == "other");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
