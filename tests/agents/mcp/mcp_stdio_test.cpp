// A server of MCP over two descriptors.
#include "agents/mcp/mcp_child.hpp"
#include "agents/mcp/mcp_protocol.hpp"
#include "agents/messages/json_text.hpp"
#include "tests/agents/mcp/held_tool.hpp"

#include <troupe/agents/mcp_server.hpp>

#include <boost/test/unit_test.hpp>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

struct test_pipe {
  mcp_pipe_end read;
  mcp_pipe_end write;
};
test_pipe make_test_pipe() {
  int ends[2];
  BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  return {mcp_pipe_end{ends[0]}, mcp_pipe_end{ends[1]}};
}

// A server on a thread of its own, and the client's ends of its descriptors.
class served {
public:
  explicit served(std::vector<tool> tools, milliseconds drain_wait = limits::mcp_drain_wait)
    : server_{rt_, {.tools = std::move(tools)}},
      to_{make_test_pipe()},
      from_{make_test_pipe()},
      how_{std::async(std::launch::async, [this, drain_wait] {
        return serve_stdio(server_, {.in = to_.read.get(),
                                     .out = from_.write.get(),
                                     .drain_wait = drain_wait,
                                     .stop = stop_.get_token()});
      })} {}
  ~served() {
    to_.write.close();
    from_.read.close();
  }

  void say(std::string_view text) {
    while (!text.empty()) {
      auto n = ::write(to_.write.get(), text.data(), text.size());
      BOOST_REQUIRE(n > 0);
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void greet() { say(mcp_request(0, "initialize", mcp_greeting()) + '\n'); }
  void call(std::int64_t id, const char* name, value args = value::map()) {
    say(mcp_request(id, "tools/call", value::map({{"name", name}, {"arguments", args}})) + '\n');
  }
  // The next line.
  std::string line() {
    for (;;) {
      if (auto at = unread_.find('\n'); at != unread_.npos) {
        auto out = unread_.substr(0, at);
        unread_.erase(0, at + 1);
        return out;
      }
      char buffer[4096];
      auto n = ::read(from_.read.get(), buffer, sizeof buffer);
      BOOST_REQUIRE(n > 0);
      unread_.append(buffer, static_cast<std::size_t>(n));
    }
  }
  value message() { return from_json(line(), json_form::plain).value(); }

  void end() { to_.write.close(); }
  void read_no_more() { from_.read.close(); }
  void stop() { stop_.request_stop(); }
  result<void> how() { return how_.get(); }

private:
  runtime rt_;
  mcp_server server_;
  test_pipe to_;
  test_pipe from_;
  std::stop_source stop_;
  std::string unread_;
  std::future<result<void>> how_;
};

tool echo_tool() {
  return tool{"echo", "", [](arg<"s", std::string> s) { return *s; }};
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_stdio)

BOOST_AUTO_TEST_CASE(each_line_is_a_message_and_the_end_of_them_the_end_of_the_server) {
  served s{{echo_tool()}};
  s.greet();
  BOOST_TEST(s.message()["result"]["protocolVersion"] == value(mcp_version));
  s.say(" \r\n\nrubbish\r\n");
  BOOST_TEST(s.message()["error"]["code"] == value(-32700));
  s.call(1, "echo", value::map({{"s", "grüß\n"}}));
  BOOST_TEST(s.message()["result"]["content"][0]["text"] == value("grüß\n"));
  s.say(mcp_request(2, "ping", {})); // without a line's end
  s.end();
  BOOST_TEST(s.line() == R"({"id": 2, "jsonrpc": "2.0", "result": {}})");
  BOOST_TEST(bool(s.how()));
}

BOOST_AUTO_TEST_CASE(what_runs_when_the_client_ends_is_answered_if_it_is_in_time) {
  auto held = std::make_shared<held_calls>();
  served s{{held_tool(held)}};
  s.greet();
  s.line();
  s.call(1, "wait");
  held->at.wait_for(1);
  s.end();
  held->at.open();
  BOOST_TEST(s.message()["result"]["content"][0]["text"] == value("waited"));
  BOOST_TEST(bool(s.how()));
}

BOOST_AUTO_TEST_CASE(what_takes_longer_is_given_up) {
  auto held = std::make_shared<held_calls>();
  served s{{held_tool(held)}, milliseconds{10}};
  s.greet();
  s.call(1, "wait");
  held->at.wait_for(1);
  s.end();
  BOOST_TEST(bool(s.how()));
  held->wait_until_left();
}

BOOST_AUTO_TEST_CASE(told_to_stop_it_hears_no_more_and_ends_when_what_runs_has) {
  auto held = std::make_shared<held_calls>();
  served s{{held_tool(held)}};
  s.greet();
  s.line();
  s.call(1, "wait");
  held->at.wait_for(1);
  s.stop();
  held->at.open();
  BOOST_TEST(s.message()["id"] == value(1));
  BOOST_TEST(bool(s.how()));
}

BOOST_AUTO_TEST_CASE(a_client_that_is_gone_takes_its_calls_along) {
  auto held = std::make_shared<held_calls>();
  served s{{held_tool(held)}};
  s.greet();
  s.call(1, "wait");
  held->at.wait_for(1);
  s.read_no_more();
  BOOST_TEST(bool(s.how()));
  held->wait_until_left();
}

BOOST_AUTO_TEST_CASE(a_line_has_a_bound) {
  served s{{echo_tool()}};
  auto ping = mcp_request(1, "ping", {});
  ping.resize(limits::mcp_message_bytes_max, ' ');
  s.say(ping + '\n');
  BOOST_TEST(s.message()["id"] == value(1));
  auto writes = std::async(std::launch::async, [&] { // its end is not read
    auto left = std::string_view{ping};
    s.say(left.substr(0, left.size() - (1u << 20)));
  });
  writes.get();
  s.say(std::string(limits::mcp_message_bytes_max - ping.size() + (1u << 20) + 1, ' '));
  auto how = s.how();
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::invalid_value));
  BOOST_TEST(how.error().message() == "serve MCP: a message of more than 16777216 bytes");
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_read_for_a_while_loses_nothing) {
  constexpr std::int64_t calls = 48; // of a mebibyte: more than may wait (mcp_queue_bytes_max)
  served s{{tool{"much", "", [] { return std::string(1u << 20, 'x'); }}, echo_tool()}};
  s.greet();
  s.line();
  for (std::int64_t id = 1; id <= calls; ++id)
    s.call(id, "much");
  std::map<std::int64_t, std::size_t> answers;
  for (std::int64_t i = 0; i < calls; ++i) {
    auto message = s.message();
    answers[message["id"].as_int()] = message["result"]["content"][0]["text"].size();
  }
  BOOST_TEST(answers.size() == static_cast<std::size_t>(calls));
  for (const auto& [id, size] : answers)
    BOOST_TEST(size == std::size_t{1} << 20);
}

BOOST_AUTO_TEST_CASE(a_descriptor_that_is_none_is_named) {
  runtime rt;
  auto how = serve_stdio(mcp_server{rt, {}}, {.in = 12345, .out = 1});
  BOOST_REQUIRE(!how);
  BOOST_TEST(how.error().message() == "serve MCP: Bad file descriptor: descriptor 12345");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
