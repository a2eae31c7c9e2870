// UUIDs as text: both ways, and texts that are not written that way.
#include "graph/uuid_text.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

constexpr std::string_view sample = "0123abcd-89ef-6f00-ba9f-ff10e2d3c4b5";
constexpr uuid_bytes sample_bytes{0x01, 0x23, 0xab, 0xcd, 0x89, 0xef, 0x6f, 0x00,
                                  0xba, 0x9f, 0xff, 0x10, 0xe2, 0xd3, 0xc4, 0xb5};

BOOST_AUTO_TEST_SUITE(graph_uuid_text)

BOOST_AUTO_TEST_CASE(bytes_become_a_text_and_come_back) {
  BOOST_TEST(uuid_text(sample_bytes) == sample);
  BOOST_TEST(hex_text(sample_bytes) == "0123abcd89ef6f00ba9fff10e2d3c4b5");
  uuid_bytes read{};
  BOOST_REQUIRE(parse_uuid_text(sample, read));
  BOOST_TEST(read == sample_bytes, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_value_of_a_byte_is_written_and_read) {
  for (int n = 0; n < 256; ++n) {
    uuid_bytes bytes{};
    bytes.fill(static_cast<unsigned char>(n));
    uuid_bytes read{};
    BOOST_REQUIRE(parse_uuid_text(uuid_text(bytes), read));
    BOOST_REQUIRE(read == bytes);
  }
}

// At each place, a character other than the one there is another UUID's, or no UUID's at all.
BOOST_AUTO_TEST_CASE(a_text_that_is_written_in_another_way_is_refused) {
  uuid_bytes read{};
  for (std::size_t at = 0; at < sample.size(); ++at)
    for (int c = 0; c < 256; ++c) {
      std::string text{sample};
      text[at] = static_cast<char>(c);
      bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      bool fits = sample[at] == '-' ? c == '-' : is_digit;
      BOOST_REQUIRE_EQUAL(parse_uuid_text(text, read), fits);
      if (fits)
        BOOST_REQUIRE_EQUAL(uuid_text(read), text);
    }
  for (std::string_view text : {std::string_view{}, sample.substr(1), std::string_view{"-"}})
    BOOST_TEST(!parse_uuid_text(text, read));
  BOOST_TEST(!parse_uuid_text(std::string{sample} + '0', read));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
