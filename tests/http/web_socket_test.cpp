// WebSockets of a listener, frame by frame.
#include "http/listener.hpp"
#include "tests/fixtures/raw_client.hpp"

#include <boost/test/unit_test.hpp>

#include <future>
#include <memory>
#include <string>

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

// A server that sends each text back, and what it noticed.
class echoing {
public:
  explicit echoing(http_listener_options options = {}) {
    auto handler = [this](http_asked asked, http_responder to) {
      if (!asked.wants_socket)
        return to.upgrade({});
      auto place = std::make_shared<std::optional<http_socket>>();
      to.upgrade(
        {.opened = [this, place](http_socket s) { place->emplace(s), opened.set_value(s); },
         .text =
           [place](std::string text) {
             if (text == "end")
               (*place)->close(1000, "as asked");
             else
               (*place)->send(text + "!");
           },
         .gone = [this] { gone.set_value(); }},
        {{"X-A", "1"}});
    };
    listener = std::make_unique<http_listener>(
      options, http_handler{[](const http_asked&) { return std::nullopt; }, handler});
  }
  std::promise<http_socket> opened;
  std::promise<void> gone;
  std::unique_ptr<http_listener> listener;
};

std::string upgrade_request(const char* version = "13") {
  return "GET /s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: "
         + std::string{version} + "\r\n\r\n";
}

// A frame of a client, with a mask of zeros.
std::string frame(unsigned char kind, const std::string& text) {
  std::string out{static_cast<char>(0x80 | kind)};
  if (text.size() < 126) {
    out += static_cast<char>(0x80 | text.size());
  } else {
    out += static_cast<char>(0x80 | 126);
    out += static_cast<char>(text.size() >> 8);
    out += static_cast<char>(text.size() & 0xff);
  }
  return out + std::string(4, '\0') + text;
}
std::string text_frame(const std::string& text) {
  return frame(1, text);
}
std::string closing(unsigned code) {
  return {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_web_socket)

BOOST_AUTO_TEST_CASE(a_request_becomes_a_socket_with_messages_both_ways) {
  echoing server;
  raw_client client{server.listener->port()};
  client.say(upgrade_request());
  auto head = client.hear("\r\n\r\n");
  BOOST_TEST(head.starts_with("HTTP/1.1 101 "));
  BOOST_TEST(head.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != head.npos);
  BOOST_TEST(head.find("X-A: 1\r\n") != head.npos);
  client.say(text_frame("a") + text_frame("b"));
  BOOST_TEST(client.hear("b!")
             == "\x81\x02"
                "a!\x81\x02"
                "b!");
  client.say(frame(9, "ping"));
  BOOST_TEST(client.hear("ping") == "\x8a\x04ping");
  client.say(text_frame("end"));
  auto last = client.hear("as asked");
  BOOST_TEST(last == "\x88\x0a" + closing(1000) + "as asked");
  client.say(frame(8, closing(1000)));
  server.gone.get_future().wait();
  BOOST_TEST(client.hear_all() == "");
}

BOOST_AUTO_TEST_CASE(a_socket_whose_peer_leaves_is_gone) {
  echoing server;
  {
    raw_client client{server.listener->port()};
    client.say(upgrade_request());
    client.hear("\r\n\r\n");
  }
  server.gone.get_future().wait();
  server.opened.get_future().get().send("nobody hears it");
}

BOOST_AUTO_TEST_CASE(a_message_beyond_its_bound_ends_the_socket) {
  echoing server{{.socket_message_bytes_max = 200}};
  raw_client client{server.listener->port()};
  client.say(upgrade_request());
  client.hear("\r\n\r\n");
  client.say(text_frame(std::string(200, 'x')));
  client.hear("x!");
  client.say(text_frame(std::string(201, 'x')));
  BOOST_TEST(client.hear_all().find(closing(1009)) != std::string::npos);
  server.gone.get_future().wait();
}

BOOST_AUTO_TEST_CASE(bytes_and_texts_that_are_not_utf8_end_the_socket) {
  for (bool is_text : {false, true}) {
    echoing server;
    raw_client client{server.listener->port()};
    client.say(upgrade_request());
    client.hear("\r\n\r\n");
    client.say(is_text ? text_frame("\xff") : frame(2, "a"));
    client.hear(closing(is_text ? 1007 : 1003));
    client.shut();
    server.gone.get_future().wait();
  }
}

BOOST_AUTO_TEST_CASE(a_frame_without_a_mask_ends_the_socket) {
  echoing server;
  raw_client client{server.listener->port()};
  client.say(upgrade_request());
  client.hear("\r\n\r\n");
  client.say("\x81\x01"
             "a");
  client.hear(closing(1002));
  client.shut();
  server.gone.get_future().wait();
}

BOOST_AUTO_TEST_CASE(a_peer_that_takes_no_messages_is_cut_off) {
  echoing server{{.unsent_bytes_max = 4u << 20}};
  raw_client client{server.listener->port()};
  client.say(upgrade_request());
  auto socket = server.opened.get_future().get();
  for (int i = 0; i < 64; ++i) // more than the sockets hold
    socket.send(std::string(1u << 20, 'x'));
  server.gone.get_future().wait();
}

BOOST_AUTO_TEST_CASE(a_silent_peer_is_pinged_and_then_closed) {
  echoing server{{.socket_idle = milliseconds{20}}};
  raw_client client{server.listener->port()};
  client.say(upgrade_request());
  client.hear("\r\n\r\n");
  client.hear("\x89"); // a ping, which stays unanswered
  server.gone.get_future().wait();
}

BOOST_AUTO_TEST_CASE(a_request_that_is_no_upgrade_stays_one_of_http) {
  echoing server;
  raw_client client{server.listener->port()};
  client.say("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  BOOST_TEST(client.hear_all().starts_with("HTTP/1.1 426 "));
  raw_client early{server.listener->port()};
  early.say(upgrade_request() + text_frame("too early"));
  BOOST_TEST(early.hear_all().starts_with("HTTP/1.1 400 "));
}

BOOST_AUTO_TEST_CASE(sockets_end_when_the_listener_drains) {
  echoing server;
  raw_client client{server.listener->port()};
  client.say(upgrade_request());
  client.hear("\r\n\r\n");
  BOOST_TEST(!server.listener->drain(milliseconds{0}));
  server.listener->end_streams();
  client.hear(closing(1001));
  client.say(frame(8, closing(1001)));
  BOOST_TEST(server.listener->drain(std::chrono::seconds{60}));
}

BOOST_AUTO_TEST_CASE(a_listener_may_end_before_its_sockets) {
  echoing server;
  raw_client client{server.listener->port()};
  client.say(upgrade_request());
  auto socket = server.opened.get_future().get();
  server.listener.reset();
  socket.send("late");
  server.gone.get_future().wait();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
