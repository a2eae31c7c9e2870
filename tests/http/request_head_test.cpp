// The rules for raw heads: forms that two servers read differently are refused.
#include "http/request_head.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;

struct head_case {
  const char* fields;
  bool is_clear;
};
std::ostream& operator<<(std::ostream& out, const head_case& c) {
  return out << c.fields;
}

const std::vector<head_case> heads{
  {"", true},
  {"Host: x\r\n", true},
  {"Content-Length: 5\r\n", true},
  {"Content-Length:  5 \r\n", true},
  {"Transfer-Encoding: chunked\r\n", true},
  {"transfer-ENCODING: Chunked\r\n", true},
  {"X: \xc3\xa9\r\n", true},
  {"X:\r\n", true},
  {"Content-Length: 5\r\nContent-Length: 5\r\n", false},
  {"Content-Length: 5\r\ncontent-length: 6\r\n", false},
  {"Content-Length: 5, 5\r\n", false},
  {"Content-Length: +5\r\n", false},
  {"Content-Length: 0x5\r\n", false},
  {"Content-Length: -1\r\n", false},
  {"Content-Length:\r\n", false},
  {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", false},
  {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", false},
  {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", false},
  {"Transfer-Encoding: chunked, chunked\r\n", false},
  {"Transfer-Encoding: gzip, chunked\r\n", false},
  {"Transfer-Encoding: identity\r\n", false},
  {"Transfer-Encoding: xchunked\r\n", false},
  {"Transfer-Encoding: \x0b"
   "chunked\r\n",
   false},
  {"Transfer-Encoding : chunked\r\n", false},
  {"X: a\r\n folded\r\n", false},
  {"X: a\r\n\tfolded\r\n", false},
  {" X: before the first one\r\n", false},
  {"X: a\nTransfer-Encoding: chunked\r\n", false},
  {"X: a\rb\r\n", false},
  {"no colon\r\n", false},
  {": no name\r\n", false},
  {"X\x01: a\r\n", false},
  {"X: \x7f\r\n", false},
  {"Host: a\r\nHost: b\r\n", false},
};
} // namespace

BOOST_AUTO_TEST_SUITE(http_request_head)

BOOST_DATA_TEST_CASE(a_head_has_one_reading_or_is_refused, data::make(heads), c) {
  auto head = "POST / HTTP/1.1\r\n" + std::string{c.fields} + "\r\n";
  BOOST_TEST(is_unambiguous_head(head) == c.is_clear);
}

BOOST_AUTO_TEST_CASE(a_zero_byte_is_refused) {
  using namespace std::string_view_literals;
  BOOST_TEST(!is_unambiguous_head("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n"sv));
  BOOST_TEST(!is_unambiguous_head("GET /\0 HTTP/1.1\r\n\r\n"sv));
}

BOOST_AUTO_TEST_CASE(chunks_do_not_exist_before_1_1) {
  BOOST_TEST(!is_unambiguous_head("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(a_head_ends_with_its_empty_line_wherever_reads_split_it) {
  std::string_view bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\nmore";
  auto whole = bytes.size() - 4;
  for (std::size_t known = 0; known < whole; ++known) {
    BOOST_TEST(size_of_head(bytes.substr(0, known)) == 0u);
    BOOST_TEST(size_of_head(bytes, known) == whole);
  }
}

BOOST_AUTO_TEST_CASE(the_first_bytes_of_tls_begin_no_request) {
  BOOST_TEST(!may_begin_request("\x16\x03\x01"));
  BOOST_TEST(!may_begin_request(" GET"));
  BOOST_TEST(may_begin_request("G"));
  BOOST_TEST(may_begin_request(""));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
