// Equal texts, and texts that differ in one byte, of all lengths that are compared differently.
#include "graph/same_text.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe {

BOOST_AUTO_TEST_SUITE(graph_same_text)

BOOST_AUTO_TEST_CASE(each_byte_counts) {
  std::string longest = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (std::size_t size = 0; size <= longest.size(); ++size) {
    auto text = longest.substr(0, size);
    BOOST_TEST(same_text(text, std::string{text}));
    BOOST_TEST(!same_text(text, text + "a"));
    for (std::size_t i = 0; i < size; ++i) {
      auto other = text;
      other[i] ^= 1;
      BOOST_TEST(!same_text(text, other), text << " and " << other);
      BOOST_TEST(!same_text(other, text), other << " and " << text);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_byte_of_zero_is_a_byte) {
  using namespace std::string_view_literals;
  BOOST_TEST(!same_text("a"sv, "a\0"sv));
  BOOST_TEST(same_text("a\0b"sv, "a\0b"sv));
  BOOST_TEST(!same_text("a\0b"sv, "a\0c"sv));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
