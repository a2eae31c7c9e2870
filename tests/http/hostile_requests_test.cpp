// Requests that are meant to harm: two readings of one request, floods, and bodies without an end.
// The bytes after a refused request are never read as another one.
#include "http/listener.hpp"
#include "tests/fixtures/raw_client.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

// Answers each request, and keeps its target and body.
class keeping_server {
public:
  explicit keeping_server(http_listener_options options = {.body_bytes_max = 64})
    : listener_{
      options,
      {.screen = [](const http_asked&) { return std::nullopt; },
       .answer =
         [this](http_asked request, http_responder to) {
           std::scoped_lock lock{mutex_};
           seen_.push_back(request.target + '|' + request.body);
           to.send({.body = "answered"});
         },
       .refusal = [](int status) { return http_whole{.status = status, .body = "refused"}; }}} {}

  std::uint16_t port() const { return listener_.port(); }
  std::vector<std::string> seen() const {
    std::scoped_lock lock{mutex_};
    return seen_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<std::string> seen_;
  http_listener listener_;
};

const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";

struct hostile_case {
  const char* name;
  std::string bytes;
  int status;
};
std::ostream& operator<<(std::ostream& out, const hostile_case& c) {
  return out << c.name;
}

hostile_case posted(const char* name, const std::string& fields, const std::string& body,
                    int status = 400) {
  return {name, "POST /p HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body, status};
}
hostile_case chunked(const char* name, const std::string& body, int status = 400) {
  return posted(name, "Transfer-Encoding: chunked\r\n", body, status);
}

const std::vector<hostile_case> two_readings{
  posted("a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
         "0\r\n\r\n" + smuggled),
  posted("chunks and a length", "Transfer-Encoding: chunked\r\nContent-Length: 40\r\n",
         "0\r\n\r\n" + smuggled),
  posted("two lengths", "Content-Length: 0\r\nContent-Length: 40\r\n", smuggled),
  posted("the same length twice", "Content-Length: 0\r\nContent-Length: 0\r\n", smuggled),
  posted("a list of lengths", "Content-Length: 0, 40\r\n", smuggled),
  posted("a signed length", "Content-Length: +0\r\n", smuggled),
  posted("a length in hex", "Content-Length: 0x0\r\n", smuggled),
  posted("a length beyond all numbers", "Content-Length: 99999999999999999999\r\n", smuggled),
  posted("a blank before the colon", "Content-Length : 0\r\n", smuggled),
  posted("a blank before the name", " Content-Length: 0\r\n", smuggled),
  posted("a folded line", "X: a\r\n Content-Length: 40\r\n", smuggled),
  posted("a line feed alone", "X: a\nContent-Length: 40\r\n", smuggled),
  posted("a carriage return alone", "X: a\rContent-Length: 40\r\n", smuggled),
  posted("a zero byte", std::string{"X: a\0b\r\n", 8}, smuggled),
  posted("a zero byte in a name", std::string{"X\0: a\r\n", 7}, smuggled),
  posted("chunks within identity", "Transfer-Encoding: chunked, identity\r\n", smuggled),
  posted("identity", "Transfer-Encoding: identity\r\n", smuggled),
  posted("chunks twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
         "0\r\n\r\n" + smuggled),
  posted("an unknown coding", "Transfer-Encoding: xchunked\r\n", smuggled),
  posted("two hosts", "Host: y\r\n", smuggled),
  {"chunks in HTTP/1.0",
   "POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
  {"the first bytes of TLS", "\x16\x03\x01\x02\x03", 400},
  {"a control character in the method", "G\x01T /p HTTP/1.1\r\n\r\n" + smuggled, 400},
  {"line feeds alone", "GET /p HTTP/1.1\nX: a\n\r\n\r\n" + smuggled, 400},
  {"another protocol", "POST /p HTTP/2.0\r\n\r\n" + smuggled, 400},
  {"two blanks in the first line", "GET  /p HTTP/1.1\r\n\r\n" + smuggled, 400},
  {"a blank in the target", "GET /p q HTTP/1.1\r\n\r\n" + smuggled, 400},
  {"no target", "GET HTTP/1.1\r\n\r\n" + smuggled, 400},
  {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
  chunked("a size beyond all numbers", "FFFFFFFFFFFFFFFF1\r\n" + smuggled),
  chunked("a size that wraps around", "10000000000000000\r\n" + smuggled),
  chunked("a negative size", "-1\r\n" + smuggled),
  chunked("a size with 0x", "0x0\r\n\r\n" + smuggled),
  chunked("no size", "\r\n" + smuggled),
  chunked("a size that is not hex", "zz\r\n" + smuggled),
  chunked("a size beyond the bound", "FFFFFFF\r\n" + smuggled, 413),
  chunked("more than its size", "3\r\nabcd\r\n0\r\n\r\n" + smuggled),
  chunked("a length in the trailer", "0\r\nContent-Length: 40\r\n\r\n" + smuggled),
  chunked("a chunk without its end", "3\r\nabc0\r\n\r\n" + smuggled),
};

} // namespace

BOOST_AUTO_TEST_SUITE(http_hostile_requests)

BOOST_DATA_TEST_CASE(a_request_with_two_readings_is_refused_and_nothing_after_it_is_read,
                     data::make(two_readings), c) {
  keeping_server server;
  raw_client client{server.port()};
  client.say(c.bytes);
  client.shut();
  auto answer = client.hear_all();
  BOOST_TEST(answer.starts_with("HTTP/1.1 " + std::to_string(c.status) + ' '), answer);
  BOOST_TEST(answer.find("\r\nConnection: close\r\n") != answer.npos, answer);
  BOOST_TEST(answer.find("HTTP/1.1", 1) == answer.npos, answer); // one answer alone
  BOOST_TEST(answer.ends_with("\r\n\r\nrefused"), answer);
  BOOST_TEST(server.seen().empty());
}

BOOST_AUTO_TEST_CASE(extensions_and_trailers_of_chunks_are_passed_over) {
  keeping_server server;
  raw_client client{server.port()};
  client.say("POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
             "3;name=value;other=\"a b\"\r\nabc\r\n0\r\nHost: y\r\nX: z\r\n\r\n"
             "GET /q HTTP/1.1\r\nConnection: close\r\n\r\n");
  client.hear_all();
  BOOST_TEST(server.seen() == (std::vector<std::string>{"/p|abc", "/q|"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(chunks_may_come_byte_by_byte) {
  keeping_server server;
  raw_client client{server.port()};
  int on = 1;
  ::setsockopt(client.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  client.say("POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  client.hear("100 Continue\r\n\r\n");
  for (char c : std::string_view{"3\r\nabc\r\n0\r\n\r\n"})
    client.say({&c, 1});
  client.hear("answered");
  BOOST_TEST(server.seen() == std::vector<std::string>{"/p|abc"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_absolute_target_stays_as_it_is) {
  keeping_server server;
  raw_client client{server.port()};
  client.say("GET http://other/p HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  client.hear_all();
  BOOST_TEST(server.seen() == std::vector<std::string>{"http://other/p|"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_body_beyond_the_bound_is_refused_by_its_length_alone) {
  keeping_server server;
  for (const char* expect : {"", "Expect: 100-continue\r\n"}) {
    raw_client client{server.port()};
    client.say("POST /p HTTP/1.1\r\nContent-Length: 1000000000\r\n" + std::string{expect} + "\r\n");
    BOOST_TEST(client.hear("refused").starts_with("HTTP/1.1 413 ")); // not a byte of it was sent
  }
}

BOOST_AUTO_TEST_CASE(a_body_without_an_end_is_refused_at_the_bound) {
  keeping_server server;
  raw_client client{server.port()};
  client.say("POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) // the bound is within the last one
    client.say("1e\r\n" + std::string(30, 'x') + "\r\n");
  BOOST_TEST(client.hear("refused").starts_with("HTTP/1.1 413 "));
}

BOOST_AUTO_TEST_CASE(a_flood_of_headers_is_refused) {
  keeping_server server;
  std::string many = "GET /p HTTP/1.1\r\n";
  for (int i = 0; i < 10'000; ++i)
    many += "a: b\r\n";
  for (const auto& flood : {many, "GET /p HTTP/1.1\r\nX: " + std::string(40'000, 'x'),
                            "GET /" + std::string(40'000, 'x'), std::string(40'000, 'G')}) {
    raw_client client{server.port()};
    client.say(flood);
    BOOST_TEST(client.hear("refused").starts_with("HTTP/1.1 431 "), flood.substr(0, 30));
  }
  BOOST_TEST(server.seen().empty());
}

BOOST_AUTO_TEST_CASE(a_slow_request_has_the_time_of_a_whole_one) {
  keeping_server server{{.body_bytes_max = 1u << 20, .read_timeout = milliseconds{50}}};
  for (const char* begin : {"GET /p HTTP/1.1\r\nX: ", "POST /p HTTP/1.1\r\nContent-Length: 1000000"
                                                      "\r\n\r\n"}) {
    raw_client client{server.port()};
    client.say(begin);
    pollfd ended{client.descriptor(), POLLIN, 0};
    while (::poll(&ended, 1, 1) == 0) // each byte comes in time, the request does not
      if (::send(client.descriptor(), "x", 1, MSG_NOSIGNAL) < 0)
        break;
    BOOST_TEST(client.hear_all() == "");
  }
  BOOST_TEST(server.seen().empty());
}

BOOST_AUTO_TEST_CASE(connections_beyond_the_bound_are_turned_away_a_few_at_a_time) {
  keeping_server server{{.connections_max = 1, .turned_away_max = 1}};
  raw_client one{server.port()};
  one.say("GET /one HTTP/1.1\r\n\r\n");
  one.hear("answered");
  auto two = std::make_unique<raw_client>(server.port());
  BOOST_TEST(two->hear("refused").starts_with("HTTP/1.1 503 ")); // though it asked for nothing
  raw_client three{server.port()};
  three.say("GET /three HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 3; ++i) { // the listener's thread has been round by then
    one.say("GET /one HTTP/1.1\r\n\r\n");
    one.hear("answered");
  }
  pollfd heard{three.descriptor(), POLLIN, 0};
  BOOST_TEST(::poll(&heard, 1, 0) == 0); // it waits
  two.reset();
  BOOST_TEST(three.hear("refused").starts_with("HTTP/1.1 503 "));
  BOOST_TEST(std::ranges::count(server.seen(), "/three|") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
