// The listener: answers that take their time, peers that leave, and hostile framing.
#include "http/listener.hpp"
#include "tests/fixtures/raw_client.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

// A listener whose requests wait for the test to answer them.
class waiting_server {
public:
  explicit waiting_server(http_listener_options options = {.body_bytes_max = 64})
    : listener_{std::make_unique<http_listener>(
      options,
      http_handler{.screen = [](const http_asked&) { return std::nullopt; },
                   .answer = [this](http_asked request,
                                    http_responder to) { take(std::move(request), to); }})} {}

  std::uint16_t port() const { return listener_->port(); }
  http_listener& listener() { return *listener_; }
  void end() { listener_.reset(); }

  // The next request, in the order of arrival.
  std::pair<http_asked, http_responder> next() {
    std::unique_lock lock{mutex_};
    came_.wait(lock, [this] { return !waiting_.empty(); });
    auto out = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    return out;
  }
  std::size_t count() {
    std::scoped_lock lock{mutex_};
    return waiting_.size();
  }

private:
  void take(http_asked request, const http_responder& to) {
    std::scoped_lock lock{mutex_};
    waiting_.emplace_back(std::move(request), to);
    came_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::pair<http_asked, http_responder>> waiting_;
  std::unique_ptr<http_listener> listener_;
};

constexpr const char* get_request = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n";

struct told {
  std::promise<void> gone;
  std::atomic<int> times = 0;
  std::function<void()> teller() {
    return [this] {
      if (++times == 1)
        gone.set_value();
    };
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(http_listener_streams)

BOOST_AUTO_TEST_CASE(a_peer_that_leaves_while_it_waits_is_noticed) {
  waiting_server server;
  told leaves;
  std::optional<http_responder> to;
  {
    raw_client client{server.port()};
    client.say(get_request);
    to = server.next().second;
    to->when_gone(leaves.teller());
  }
  leaves.gone.get_future().wait();
  to->send({});
  told late;
  to->when_gone(late.teller()); // answered, as far as this handle knows
  raw_client other{server.port()};
  other.say(get_request);
  server.next().second.send({});
  other.hear("\r\n\r\n");
  BOOST_TEST(leaves.times == 1);
  BOOST_TEST(late.times == 0);
}

BOOST_AUTO_TEST_CASE(a_peer_that_leaves_during_a_stream_is_noticed_also_after_further_requests) {
  waiting_server server;
  told leaves;
  std::optional<http_responder> to;
  {
    raw_client client{server.port()};
    client.say(std::string{get_request} + get_request); // the second one hides nothing
    to = server.next().second;
    to->start(200, {});
    client.hear("\r\n\r\n");
    to->when_gone(leaves.teller());
  }
  leaves.gone.get_future().wait();
  BOOST_TEST(server.count() == 0u);
}

BOOST_AUTO_TEST_CASE(a_function_for_a_peer_that_has_left_is_called_at_once) {
  waiting_server server;
  told first, second;
  std::optional<http_responder> to;
  {
    raw_client client{server.port()};
    client.say(get_request);
    to = server.next().second;
    to->when_gone(first.teller());
  }
  first.gone.get_future().wait();
  to->when_gone(second.teller());
  second.gone.get_future().wait();
}

BOOST_AUTO_TEST_CASE(an_answer_that_must_be_whole_has_no_end_unless_somebody_ends_it) {
  for (bool is_ended : {true, false}) {
    waiting_server server;
    raw_client client{server.port()};
    client.say(get_request);
    {
      auto to = server.next().second;
      to.cut_unless_ended();
      to.start(200, {});
      to.piece("part");
      client.hear("part");
      if (is_ended)
        to.end();
    }
    BOOST_TEST(client.hear("\r\n") == "\r\n"); // of the chunk
    if (is_ended)
      BOOST_TEST(client.hear("\r\n\r\n") == "0\r\n\r\n");
    else
      BOOST_TEST(client.hear_all() == "");
  }
}

BOOST_AUTO_TEST_CASE(nobody_is_gone_after_the_answer_or_when_the_listener_ends) {
  waiting_server server;
  told answered, stopped;
  raw_client one{server.port()};
  one.say(get_request);
  auto to = server.next().second;
  to.when_gone(answered.teller());
  to.send({.body = "done"});
  one.hear("done");
  raw_client two{server.port()};
  two.say(get_request);
  auto other = server.next().second;
  other.when_gone(stopped.teller());
  server.end();
  BOOST_TEST(answered.times == 0);
  BOOST_TEST(stopped.times == 0);
}

BOOST_AUTO_TEST_CASE(an_answer_may_begin_with_any_status_and_beats_steadily) {
  waiting_server server;
  raw_client client{server.port()};
  client.say(get_request);
  auto to = server.next().second;
  to.start(202, {{"X-A", "1"}}, {.text = "\n", .every = milliseconds{1}, .is_steady = true});
  auto head = client.hear("\r\n\r\n");
  BOOST_TEST(head.starts_with("HTTP/1.1 202 Accepted\r\nX-A: 1\r\n"));
  client.hear("1\r\n\n\r\n1\r\n\n\r\n");
  to.piece("{}");
  to.end();
  client.hear("2\r\n{}\r\n");
  BOOST_TEST(client.hear("0\r\n\r\n").ends_with("0\r\n\r\n"));
  client.say(get_request); // and the connection is as before
  server.next().second.send({.body = "x"});
  BOOST_TEST(client.hear("x").starts_with("HTTP/1.1 200"));
}

BOOST_AUTO_TEST_CASE(a_steady_beat_comes_between_pieces_that_follow_each_other) {
  waiting_server server;
  raw_client client{server.port()};
  client.say(get_request);
  auto to = server.next().second;
  to.start(200, {}, {.text = "~", .every = milliseconds{1}, .is_steady = true});
  std::string heard;
  for (int beats = 0; beats < 3;) { // never quiet: a new piece for each that arrives
    to.piece("p");
    heard = client.hear("1\r\np\r\n");
    beats += heard.find('~') != heard.npos;
  }
  to.end();
  client.hear("0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(pieces_that_the_system_does_not_take_at_once_arrive_whole_and_in_order) {
  waiting_server server;
  raw_client client{server.port()};
  client.say(get_request);
  auto to = server.next().second;
  to.start(200, {});
  client.hear("\r\n\r\n");
  constexpr std::size_t bytes = 1u << 20; // more than the buffers of both sockets
  for (char c : {'a', 'b', 'c', 'd', 'e', 'f'})
    to.piece(std::string(bytes, c));
  to.end();
  for (char c : {'a', 'b', 'c', 'd', 'e', 'f'})
    client.hear("100000\r\n" + std::string(bytes, c) + "\r\n");
  client.hear("0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(a_request_that_came_before_the_last_answer_is_answered) {
  waiting_server server;
  raw_client client{server.port()};
  client.say(std::string{get_request} + get_request + get_request);
  for (int status : {201, 202, 204}) {
    server.next().second.send({.status = status});
    BOOST_TEST(client.hear("\r\n\r\n").starts_with("HTTP/1.1 " + std::to_string(status)));
  }
}

BOOST_AUTO_TEST_CASE(a_request_for_the_head_gets_no_body) {
  waiting_server server;
  raw_client client{server.port()};
  for (bool is_stream : {false, true}) {
    client.say("HEAD / HTTP/1.1\r\n\r\n");
    auto [asked, to] = server.next();
    BOOST_TEST(asked.method == "HEAD");
    if (is_stream) {
      to.start(200, {});
      to.piece("abc");
      to.end();
    } else {
      to.send({.body = "abc"});
    }
    auto head = client.hear("\r\n\r\n");
    BOOST_TEST((is_stream || head.find("Content-Length: 3\r\n") != head.npos));
  }
  client.say(get_request); // what follows is the next answer
  server.next().second.send({.status = 204});
  BOOST_TEST(client.hear("\r\n\r\n") == "HTTP/1.1 204 No Content\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(an_answer_has_the_headers_that_were_added_and_reports_its_status) {
  waiting_server server;
  std::promise<int> status, none;
  {
    raw_client client{server.port()};
    client.say(get_request);
    auto [asked, to] = server.next();
    BOOST_TEST(asked.peer == "127.0.0.1");
    to.with({{"X-Id", "7"}}, [&status](int s) { status.set_value(s); });
    to.send({.status = 404});
    auto head = client.hear("\r\n\r\n");
    BOOST_TEST(head.find("X-Id: 7\r\n") != head.npos);
    client.say(get_request);
    server.next().second.with({}, [&none](int s) { none.set_value(s); });
  }
  BOOST_TEST(status.get_future().get() == 404);
  auto last = none.get_future().get(); // the handle is dropped, or the peer is gone first
  BOOST_TEST((last == 500 || last == 499));
}

BOOST_AUTO_TEST_CASE(requests_that_come_together_are_answered_one_after_the_other) {
  waiting_server server;
  raw_client client{server.port()};
  client.say("POST /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
             "POST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\n\r\n"
             "\r\nGET /3 HTTP/1.1\r\n\r\n");
  for (const char* body : {"abc", "def", ""}) {
    auto [asked, to] = server.next();
    BOOST_TEST(server.count() == 0u);
    BOOST_TEST(asked.body == body);
    to.send({.body = asked.target});
    client.hear("\r\n\r\n" + asked.target);
  }
}

BOOST_AUTO_TEST_CASE(fields_after_a_body_do_not_become_headers) {
  waiting_server server;
  raw_client client{server.port()};
  client.say("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
             "X-Api-Key: k\r\n\r\n");
  auto [asked, to] = server.next();
  BOOST_TEST(!asked.has("x-api-key"));
  to.send({});
  client.hear("\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(an_extension_of_a_chunk_is_bounded) {
  waiting_server server;
  raw_client client{server.port()};
  client.say("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;"
             + std::string(1u << 20, 'x'));
  BOOST_TEST(client.hear_all().starts_with("HTTP/1.1 4"));
}

BOOST_AUTO_TEST_CASE(a_head_that_never_ends_is_refused_at_its_bound) {
  waiting_server server{{.header_bytes_max = 100}};
  raw_client client{server.port()};
  client.say("GET / HTTP/1.1\r\n" + std::string(85, 'x'));
  BOOST_TEST(client.hear_all().starts_with("HTTP/1.1 431 "));
}

BOOST_AUTO_TEST_CASE(a_drain_ends_streams_in_good_order) {
  waiting_server server;
  raw_client client{server.port()};
  client.say(get_request);
  auto to = server.next().second;
  to.start(200, {});
  to.piece("abc");
  BOOST_TEST(!server.listener().drain(milliseconds{0}));
  server.listener().end_streams();
  BOOST_TEST(server.listener().drain(std::chrono::seconds{60}));
  to.piece("late");
  BOOST_TEST(client.hear_all().ends_with("3\r\nabc\r\n0\r\n\r\n"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
