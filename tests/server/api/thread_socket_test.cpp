// The thread protocol over a WebSocket: its commands wait for each other.
#include "tests/server/served_rooms.hpp"

#include <troupe/server/limits.hpp>

#include <thread>

namespace troupe::server::test {
namespace {

constexpr const char* thread_id = "7b0d7c9c-31a1-4f5f-8a38-0d5a2a3f2b14";

/// A WebSocket of a thread.
class thread_socket {
public:
  explicit thread_socket(const served_rooms& of) : client_{of.edge->port()} {
    client_.say(std::string{"GET /threads/"} + thread_id
                + "/stream/events HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    BOOST_REQUIRE(client_.hear("\r\n\r\n").starts_with("HTTP/1.1 101"));
  }
  void say(const std::string& texts) const { client_.say(texts); }
  std::string hear(std::string_view words) { return client_.hear(words); }

private:
  troupe::test::raw_client client_;
};

/// A text message of less than 64 KiB, under a mask of zeros.
std::string masked_text(const std::string& text) {
  auto size = text.size();
  auto head = size < 126
                ? std::string{static_cast<char>(0x80 | size)}
                : std::string{'\xfe', static_cast<char>(size >> 8), static_cast<char>(size & 0xff)};
  return '\x81' + head + std::string(4, '\0') + text;
}

std::string command(int id, const char* method) {
  return masked_text(R"({"id":)" + std::to_string(id) + R"(,"method":")" + method + "\"}");
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_thread_socket)

BOOST_AUTO_TEST_CASE(a_command_beyond_the_limit_is_refused_and_those_before_it_are_heard) {
  served_rooms server;
  thread_socket socket{server};
  constexpr auto last = static_cast<int>(limits::server_socket_commands_max);
  {
    held_threads held{server};
    std::string all;
    for (int n = 1; n <= last + 1; ++n)
      all += command(n, "agent.getTree");
    socket.say(all);
    auto refused = socket.hear(R"("type":"error"})");
    auto text = refused.substr(refused.find('{'));
    auto error = from_json(text, json_form::plain);
    BOOST_REQUIRE_MESSAGE(error.has_value(), text);
    BOOST_TEST((*error)["id"] == value(last + 1));
    BOOST_TEST((*error)["error"] == value("unknown_error"));
    BOOST_TEST((*error)["message"]
               == value("429: too many commands of this socket wait (server_socket_commands_max)"));
  }
  for (int n = 1; n <= last; ++n) // in their order
    socket.hear(R"("id":)" + std::to_string(n) + ',');
  socket.say(command(last + 2, "agent.getTree")); // there is room again
  auto heard = socket.hear(R"("id":)" + std::to_string(last + 2) + ',');
  BOOST_TEST(heard.find("429: ") == heard.npos, heard);
}

BOOST_AUTO_TEST_CASE(a_subscription_beyond_the_limit_is_refused_until_another_one_ends) {
  served_rooms server;
  thread_socket socket{server};
  constexpr auto last = static_cast<int>(limits::server_socket_subscriptions_max);
  auto answer = [&](int id, const std::string& method, const std::string& params) {
    socket.say(masked_text(R"({"id":)" + std::to_string(id) + R"(,"method":"subscription.)" + method
                           + R"(","params":{)" + params + "}}"));
    auto heard = socket.hear(R"("type":")") + socket.hear("}");
    return heard.substr(heard.find("{\""));
  };
  auto subscribe = [&](int id) { return answer(id, "subscribe", R"("channels":["values"])"); };
  for (int n = 1; n < last; ++n)
    subscribe(n);
  auto newest = subscribe(last);
  BOOST_TEST(newest.find("error") == newest.npos, newest);
  auto refused = from_json(subscribe(last + 1), json_form::plain).value();
  BOOST_TEST(refused["error"] == value("unknown_error"));
  BOOST_TEST(
    refused["message"]
    == value("429: too many subscriptions of this socket (server_socket_subscriptions_max)"));
  auto name = newest.substr(newest.find(R"("subscription_id":)"));
  answer(last + 2, "unsubscribe", name.substr(0, name.find_first_of(",}")));
  auto again = subscribe(last + 3); // there is room again
  BOOST_TEST(again.find("error") == again.npos, again);
}

BOOST_AUTO_TEST_CASE(commands_that_were_kept_are_heard_when_their_client_has_left) {
  served_rooms server;
  {
    held_threads held{server};
    {
      thread_socket socket{server};
      auto start = R"({"id":3,"method":"run.start","params":{"assistant_id":"plain","input":{}}})";
      socket.say(command(1, "agent.getTree") + command(2, "agent.getTree") + masked_text(start)
                 + "\x88\x80" + std::string(4, '\0')); // a close
      socket.hear("\x88");
    }
    while (server.edge->load().sockets > 0)
      std::this_thread::yield();
  }
  int tries = 0;
  while (server.ask("GET", std::string{"/threads/"} + thread_id).status == 404)
    BOOST_REQUIRE(++tries < 20'000);
  BOOST_TEST(server.ask("GET", std::string{"/threads/"} + thread_id + "/runs").json().size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
