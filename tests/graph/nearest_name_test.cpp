// Names that a misspelt word probably means.
#include "graph/nearest_name.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(graph_nearest_name)

BOOST_AUTO_TEST_CASE(the_name_that_differs_least_is_found) {
  std::vector<std::string_view> names{"graphs", "http", "auth", "store", "stories"};
  BOOST_TEST(nearest_name("grahps", names) == "graphs");
  BOOST_TEST(nearest_name("https", names) == "http");
  BOOST_TEST(nearest_name("storr", names) == "store");
  BOOST_TEST(nearest_name("auth", names) == "auth");
}

BOOST_AUTO_TEST_CASE(a_name_that_differs_in_three_letters_is_not_meant) {
  BOOST_TEST(nearest_name("graph", {"grap"}) == "grap");
  BOOST_TEST(nearest_name("abc", {"xyz"}) == "");
  BOOST_TEST(nearest_name("dependencies", {"graphs", "env"}) == "");
  BOOST_TEST(nearest_name("word", {}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
