// Server-sent events, cut into pieces anywhere.
#include "http/sse.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using events = std::vector<sse_event>;

// The events of `text` when it comes in pieces of this size.
events decoded(std::string_view text, std::size_t piece = 1u << 20) {
  sse_decoder decoder;
  events out;
  for (std::size_t at = 0; at < text.size(); at += piece)
    decoder.feed(text.substr(at, piece), out).value();
  return out;
}

// "type/data/id;" of each.
std::string shown(const events& all) {
  std::string out;
  for (const auto& e : all)
    out += e.type + "/" + e.data + "/" + e.id + ";";
  return out;
}

struct sample {
  const char* name;
  std::string text;
  std::string shown;
};
std::ostream& operator<<(std::ostream& out, const sample& s) {
  return out << s.name;
}

const std::vector<sample> samples{
  {"one event", "data: a\n\n", "/a/;"},
  {"a type", "event: t\ndata: a\n\n", "t/a/;"},
  {"a type counts for one event", "event: t\ndata: a\n\ndata: b\n\n", "t/a/;/b/;"},
  {"a type without data is no event", "event: t\n\ndata: b\n\n", "/b/;"},
  {"lines are joined", "data: a\ndata: b\ndata:\n\n", "/a\nb\n/;"},
  {"empty data is an event", "data\n\ndata:\n\n", "//;//;"},
  {"one space is dropped", "data:a\n\ndata:  a\n\n", "/a/;/ a/;"},
  {"line ends of all kinds", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", "/a/;/b/;/c/;"},
  {"mixed line ends", "data: a\rdata: b\r\ndata: c\n\r\n", "/a\nb\nc/;"},
  {"comments", ": hello\n:\ndata: a\n: there\n\n", "/a/;"},
  {"a byte order mark",
   "\xEF\xBB\xBF"
   "data: a\n\n",
   "/a/;"},
  {"a byte order mark later on is a name",
   "data: a\n\n\xEF\xBB\xBF"
   "data: b\n\n",
   "/a/;"},
  {"ids stay", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "/a/1;/b/1;/c/;"},
  {"an id with a zero is none", std::string("id: 1\0\ndata: a\n\n", 16), "/a/;"},
  {"unknown fields", "foo: x\nbar\ndata: a\nDATA: b\n data: c\n\n", "/a/;"},
  {"more than ASCII", "data: Grüße 😀\n\n", "/Grüße 😀/;"},
  {"colons in data", "data: {\"a\": 1}\n\n", "/{\"a\": 1}/;"},
  {"what the end cuts off", "data: a\n\ndata: b\n", "/a/;"},
  {"nothing", "\n\n\r\n", ""},
};

} // namespace

BOOST_AUTO_TEST_SUITE(http_sse)

BOOST_DATA_TEST_CASE(a_stream_means_the_same_however_it_is_cut, data::make(samples), s) {
  for (std::size_t piece = 1; piece <= s.text.size() + 1; ++piece)
    BOOST_TEST(shown(decoded(s.text, piece)) == s.shown);
}

BOOST_AUTO_TEST_CASE(the_time_to_wait_is_kept_when_it_is_a_number) {
  sse_decoder decoder;
  events none;
  BOOST_TEST(!decoder.retry());
  decoder.feed("retry: 1500\nretry: soon\nretry: -1\nretry: 99999999999\n", none).value();
  BOOST_TEST((decoder.retry() == std::chrono::milliseconds{1500}));
  BOOST_TEST(none.empty());
}

BOOST_AUTO_TEST_CASE(lines_and_events_are_bounded_whole_or_in_pieces) {
  auto fits = [](const std::string& text, std::size_t piece) {
    sse_decoder decoder{{.line_bytes_max = 20, .event_bytes_max = 30}};
    events out;
    for (std::size_t at = 0; at < text.size(); at += piece)
      if (auto ok = decoder.feed(std::string_view{text}.substr(at, piece), out); !ok) {
        BOOST_TEST((ok.error().code() == errc::node_failed));
        BOOST_TEST(ok.error().type() == "StreamError");
        BOOST_TEST(!decoder.feed("\n\n", out).has_value()); // and so it stays
        return false;
      }
    return true;
  };
  const std::string ten(10, 'x');
  for (std::size_t piece : {1u, 3u, 1000u}) {
    BOOST_TEST(fits("data: " + ten + "1234\n\n", piece));
    BOOST_TEST(!fits("data: " + ten + "12345\n\n", piece));
    BOOST_TEST(!fits(": " + std::string(100, 'x'), piece));
    BOOST_TEST(fits("data: " + ten + "\ndata: " + ten + "\ndata: 12345678\n\n", piece));
    BOOST_TEST(!fits("data: " + ten + "\ndata: " + ten + "\ndata: 123456789\n\n", piece));
    BOOST_TEST(!fits("event: " + ten + "\ndata: " + ten + "\ndata: " + ten + "\n\n", piece));
    BOOST_TEST(fits("data: a\n\n" + std::string(200, '\n') + "data: b\n\n", piece));
  }
}

BOOST_AUTO_TEST_CASE(events_before_one_that_is_too_large_are_given) {
  sse_decoder decoder{{.line_bytes_max = 20}};
  events out;
  BOOST_TEST(!decoder.feed("data: a\n\ndata: " + std::string(20, 'x'), out).has_value());
  BOOST_TEST(shown(out) == "/a/;");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
