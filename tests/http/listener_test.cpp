// The listener: framing, bounds and time-outs, byte by byte.
#include "http/listener.hpp"
#include "tests/fixtures/raw_client.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

constexpr const char* ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

// Requests, and what becomes of them.
class answering {
public:
  explicit answering(http_listener_options options = {.body_bytes_max = 16})
    : listener_{options,
                {.screen = [this](const http_asked& head) -> std::optional<http_whole> {
                   if (head.target != "/no")
                     return std::nullopt;
                   ++screened;
                   return http_whole{.status = 403, .body = "no"};
                 },
                 .answer =
                   [this](http_asked request, http_responder to) {
                     auto what = request.target;
                     {
                       std::scoped_lock lock{mutex_};
                       seen_.push_back(std::move(request));
                     }
                     if (what == "/later")
                       later.set_value(std::move(to));
                     else if (what == "/throws")
                       throw std::runtime_error{"no"};
                     else if (what != "/drops")
                       to.send({});
                   }}} {}

  std::uint16_t port() const { return listener_.port(); }
  http_listener& listener() { return listener_; }
  std::vector<http_asked> seen() const {
    std::scoped_lock lock{mutex_};
    return seen_;
  }
  std::atomic<int> screened = 0;
  std::promise<http_responder> later;

private:
  mutable std::mutex mutex_;
  std::vector<http_asked> seen_;
  http_listener listener_;
};

std::string get(const char* target) {
  return "GET " + std::string{target} + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_listening)

BOOST_AUTO_TEST_CASE(requests_of_one_connection_are_answered_in_turn) {
  answering server;
  raw_client client{server.port()};
  client.say("POST /a HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nx-one: 2\r\nContent-Length: 5\r\n\r\nhel");
  client.say("loGET /b HTTP/1.1\r\n"); // the next one is begun
  BOOST_TEST(client.hear("\r\n\r\n") == ok);
  client.say("Host: x\r\n\r\n");
  BOOST_TEST(client.hear("\r\n\r\n") == ok);
  auto seen = server.seen();
  BOOST_REQUIRE(seen.size() == 2u);
  BOOST_TEST(seen[0].method == "POST");
  BOOST_TEST(seen[0].target == "/a");
  BOOST_TEST(seen[0].header("x-one") == "1");
  BOOST_TEST(seen[0].body == "hello");
  BOOST_TEST(seen[1].target == "/b");
}

struct framing_case {
  const char* name;
  std::string request;
  const char* begin; // of the answer
};
std::ostream& operator<<(std::ostream& out, const framing_case& c) {
  return out << c.name;
}
const std::vector<framing_case> framings{
  {"rubbish", "rubbish\r\n\r\n", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"},
  {"a length that is none", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 400 "},
  {"two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
   "HTTP/1.1 400 "},
  {"a body at the bound",
   "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 16\r\n\r\n0123456789abcdef",
   "HTTP/1.1 200 "},
  {"a body beyond it", "POST / HTTP/1.1\r\nContent-Length: 17\r\n\r\n0123456789abcdefg",
   "HTTP/1.1 413 "},
  {"a body in pieces beyond it",
   "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n0123456789abcdefg\r\n0\r\n\r\n",
   "HTTP/1.1 413 "},
  {"headers at the bound",
   "GET / HTTP/1.1\r\nConnection: close\r\nX: " + std::string(30'000, 'x') + "\r\n\r\n",
   "HTTP/1.1 200 "},
  {"headers beyond it",
   "GET / HTTP/1.1\r\nX: " + std::string(limits::http_served_header_bytes_max, 'x') + "\r\n\r\n",
   "HTTP/1.1 431 "},
  {"one that is refused by its head", "POST /no HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789",
   "HTTP/1.1 403 "},
  {"one of HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n"},
  {"a handle that is dropped", "GET /drops HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 500 "},
  {"a handler that throws", "GET /throws HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 500 "},
};
BOOST_DATA_TEST_CASE(a_request_has_its_answer_and_the_connection_its_end, data::make(framings), c) {
  answering server;
  raw_client client{server.port()};
  client.say(c.request);
  auto answer = client.hear_all();
  BOOST_TEST(answer.starts_with(c.begin), answer);
}

BOOST_AUTO_TEST_CASE(a_body_is_asked_for_when_its_head_has_passed) {
  answering server;
  raw_client client{server.port()};
  client.say("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  BOOST_TEST(client.hear("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.say("ab");
  BOOST_TEST(client.hear("\r\n\r\n") == ok);
  raw_client other{server.port()};
  other.say("POST /no HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  BOOST_TEST(other.hear("no").starts_with("HTTP/1.1 403 "));
}

BOOST_AUTO_TEST_CASE(a_stream_is_said_piece_by_piece_and_says_that_it_is_there) {
  answering server{{.quiet_max = milliseconds{1}}};
  raw_client client{server.port()};
  client.say(get("/later"));
  auto to = server.later.get_future().get();
  to.begin({{"Content-Type", "text/event-stream"}}, ":\n");
  BOOST_TEST(
    client.hear("\r\n\r\n")
    == "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  BOOST_TEST(client.hear("2\r\n:\n\r\n2\r\n:\n\r\n") == "2\r\n:\n\r\n2\r\n:\n\r\n");
  to.piece("data: 1\n\n");
  client.hear("9\r\ndata: 1\n\n\r\n");
  to.end();
  to.piece("too late");
  to.send({.status = 404});
  client.hear("0\r\n\r\n");
  client.say(get("/"));
  BOOST_TEST(client.hear("\r\n\r\n") == ok);
}

BOOST_AUTO_TEST_CASE(a_stream_to_a_client_of_1_0_ends_with_its_connection) {
  answering server;
  raw_client client{server.port()};
  client.say("GET /later HTTP/1.0\r\n\r\n");
  auto to = server.later.get_future().get();
  to.begin({}, {});
  to.piece("a");
  to.piece("b");
  to.end();
  BOOST_TEST(client.hear_all() == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab");
}

BOOST_AUTO_TEST_CASE(an_answer_that_comes_too_late_is_dropped) {
  answering server;
  std::optional<http_responder> to;
  {
    raw_client client{server.port()};
    client.say(get("/later"));
    to = server.later.get_future().get();
  }
  to->send({});
  raw_client other{server.port()};
  other.say(get("/"));
  BOOST_TEST(other.hear("\r\n\r\n") == ok);
}

BOOST_AUTO_TEST_CASE(a_handle_may_outlive_its_listener) {
  auto server = std::make_unique<answering>();
  raw_client client{server->port()};
  client.say(get("/later"));
  auto to = server->later.get_future().get();
  server.reset();
  to.send({});
  BOOST_TEST(client.hear_all() == "");
}

BOOST_AUTO_TEST_CASE(a_request_that_does_not_come_and_an_answer_nobody_takes_have_an_end) {
  answering server{{.body_bytes_max = 16, .read_timeout = milliseconds{20}}};
  raw_client begins{server.port()};
  begins.say("POST / HTTP/1.1\r\nContent-Length: 16\r\n\r\n0");
  BOOST_TEST(begins.hear_all() == "");
  raw_client never{server.port()};
  BOOST_TEST(never.hear_all() == "");

  answering other{{.write_timeout = milliseconds{20}}};
  raw_client deaf{other.port()};
  deaf.say(get("/later"));
  other.later.get_future().get().send({.body = std::string(64u << 20, 'x')});
  BOOST_TEST(other.listener().drain(std::chrono::seconds{60}));
}

BOOST_AUTO_TEST_CASE(a_stream_that_its_peer_does_not_read_is_closed_at_its_bound) {
  answering server{{.write_timeout = std::chrono::hours{1}, .unsent_bytes_max = 4u << 20}};
  raw_client deaf{server.port()};
  deaf.say(get("/later"));
  auto to = server.later.get_future().get();
  to.begin({{"Content-Type", "text/event-stream"}}, "");
  for (int i = 0; i < 64; ++i) // more than the sockets hold
    to.piece(std::string(1u << 20, 'x'));
  BOOST_TEST(server.listener().drain(std::chrono::seconds{60}));
}

BOOST_AUTO_TEST_CASE(connections_beyond_the_bound_wait_for_one_to_go) {
  answering server{{.connections_max = 2}};
  raw_client one{server.port()};
  auto two = std::make_unique<raw_client>(server.port());
  for (auto* c : {&one, two.get()}) {
    c->say(get("/"));
    c->hear("\r\n\r\n");
  }
  raw_client three{server.port()};
  three.say(get("/third"));
  for (int i = 0; i < 3; ++i) { // its thread has been round by then
    one.say(get("/"));
    one.hear("\r\n\r\n");
  }
  BOOST_TEST(server.seen().size() == 5u);
  two.reset();
  BOOST_TEST(three.hear("\r\n\r\n") == ok);
}

BOOST_AUTO_TEST_CASE(who_drains_answers_what_was_asked_and_closes) {
  answering server{{.body_bytes_max = 16, .write_timeout = std::chrono::hours{1}}};
  raw_client idle{server.port()};
  idle.say(get("/"));
  idle.hear("\r\n\r\n");
  raw_client refused{server.port()};
  refused.say(get("/no"));
  BOOST_TEST(refused.hear("no").starts_with("HTTP/1.1 403 ")); // its client stays
  raw_client asks{server.port()};
  asks.say(get("/later"));
  auto to = server.later.get_future().get();
  BOOST_TEST(!server.listener().drain(milliseconds{0}));
  BOOST_TEST(idle.hear_all() == "");
  to.send({.body = "done"});
  BOOST_TEST(server.listener().drain(std::chrono::seconds{60}));
  BOOST_TEST(asks.hear_all().ends_with("\r\n\r\ndone"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
