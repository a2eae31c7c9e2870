// A server of MCP over streamable HTTP: clients, sessions, and who is refused.
#include "agents/mcp/mcp_http_gate.hpp"
#include "agents/mcp/mcp_protocol.hpp"
#include "agents/messages/json_text.hpp"
#include "http/client.hpp"
#include "tests/agents/mcp/held_tool.hpp"
#include "tests/agents/mcp/http_waits.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/mcp_server.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <memory>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

std::vector<tool> http_tools(const std::shared_ptr<held_calls>& held) {
  return {tool{"echo", "", [](arg<"s", std::string> s) { return *s; }}, held_tool(held)};
}

struct http_served {
  explicit http_served(mcp_http_options options = {})
    : server{rt, {.tools = http_tools(held)}},
      http{server, std::move(options)} {}

  std::shared_ptr<held_calls> held = std::make_shared<held_calls>();
  runtime rt;
  mcp_server server;
  mcp_http_server http;
  std::shared_ptr<http_loop> loop = http_loop::shared(); // until all have seen the end
};

mcp_client http_client_of(const mcp_http_server& http, mcp_options options = {},
                          http_headers headers = {}) {
  return mcp_client::connect(mcp_endpoint{.url = http.url(), .headers = std::move(headers)},
                             std::move(options))
    .value();
}

value http_call(const char* name, value args = value::map()) {
  return value::map({{"name", name}, {"arguments", std::move(args)}});
}

http_request mcp_post(const mcp_http_server& http, std::string body, http_headers more = {}) {
  http_request out;
  out.method = "POST";
  out.url = http.url();
  out.headers = {{"Content-Type", "application/json"},
                 {"Accept", "application/json, text/event-stream"}};
  for (auto& h : more)
    out.headers.push_back(std::move(h));
  out.body = std::move(body);
  return out;
}

// The id of a new session.
std::string session_of(const mcp_http_server& http) {
  auto greeted = http_fetch_and_wait(mcp_post(http, mcp_request(0, "initialize", mcp_greeting())));
  BOOST_TEST(greeted.head.status == 200);
  return std::string{greeted.head.header("mcp-session-id")};
}

int status_of(http_request request) {
  return http_fetch_and_wait(std::move(request)).head.status;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_http_server)

BOOST_AUTO_TEST_CASE(a_client_lists_and_calls) {
  http_served s;
  BOOST_TEST(s.http.url() == "http://127.0.0.1:" + std::to_string(s.http.port()) + "/mcp");
  auto client = http_client_of(s.http);
  BOOST_TEST(client.protocol_version() == "2025-11-25");
  BOOST_TEST(client.tools().value().size() == 2u);
  auto answer = client.call_and_wait("echo", value::map({{"s", "grüß"}})).value();
  BOOST_TEST(answer["content"][0]["text"] == value("grüß"));
  BOOST_TEST(client.call_and_wait("nobody", value::map()).error().text()
             == "Unknown tool: nobody (-32602)");
  BOOST_TEST(bool(client.ping()));
}

BOOST_AUTO_TEST_CASE(calls_wait_side_by_side_and_are_answered_as_they_end) {
  http_served s;
  auto client = http_client_of(s.http);
  auto call = [&] { return client.call_and_wait("wait", value::map()); };
  std::vector<std::future<result<value>>> waiting;
  for (int i = 0; i < 8; ++i)
    waiting.push_back(std::async(std::launch::async, call));
  s.held->at.wait_for(8);
  BOOST_TEST(bool(client.ping()));
  s.held->at.open();
  for (auto& one : waiting)
    BOOST_TEST(one.get().value()["content"][0]["text"] == value("waited"));
}

BOOST_AUTO_TEST_CASE(a_call_that_takes_long_is_an_event_of_a_stream_and_json_for_who_takes_none) {
  http_served s;
  auto id = session_of(s.http);
  auto ask = [&](const char* accept) {
    auto request = mcp_post(s.http, mcp_request(1, "tools/call", http_call("wait")),
                            {{"Mcp-Session-Id", id}});
    request.headers[1].second = accept;
    auto transfer = started(*s.loop, std::move(request));
    s.held->at.wait_for(1);
    return transfer;
  };
  auto events = ask("application/json, text/event-stream");
  wait_until(*events, http_sign::head); // the stream begins before the call has ended
  s.held->at.let_pass();
  wait_until(*events, http_sign::end);
  BOOST_TEST(events->head().header("content-type") == "text/event-stream");
  BOOST_TEST(text_of_body(*events).starts_with("event: message\ndata: {\"id\": 1, "));
  auto json = ask("application/json");
  s.held->at.let_pass();
  wait_until(*json, http_sign::end);
  BOOST_TEST(json->head().header("content-type") == "application/json");
  BOOST_TEST(from_json(text_of_body(*json), json_form::plain).value()["id"] == value(1));
}

BOOST_AUTO_TEST_CASE(a_late_call_is_cancelled_and_its_stream_ends) {
  http_served s;
  auto client = http_client_of(s.http, {.call_timeout = milliseconds{50}});
  auto late = client.call_and_wait("wait", value::map());
  BOOST_REQUIRE(!late);
  BOOST_TEST((late.error().code() == errc::node_timeout));
  s.held->wait_until_left();
}

BOOST_AUTO_TEST_CASE(a_cancelled_call_s_stream_ends_without_an_answer) {
  http_served s;
  auto id = session_of(s.http);
  http_headers session{{"Mcp-Session-Id", id}};
  auto call = std::async(std::launch::async, [&] {
    return http_fetch_and_wait(
      mcp_post(s.http, mcp_request(5, "tools/call", http_call("wait")), session));
  });
  s.held->at.wait_for(1);
  BOOST_TEST(status_of(mcp_post(s.http, mcp_cancellation(5), session)) == 202);
  auto ended = call.get();
  BOOST_TEST(ended.head.status == 200);
  BOOST_TEST(ended.body == "");
  s.held->wait_until_left();
}

BOOST_AUTO_TEST_CASE(a_session_ends_with_delete_and_its_calls_with_it) {
  http_served s;
  auto id = session_of(s.http);
  http_headers session{{"Mcp-Session-Id", id}};
  auto call = std::async(std::launch::async, [&] {
    return http_fetch_and_wait(
      mcp_post(s.http, mcp_request(1, "tools/call", http_call("wait")), session));
  });
  s.held->at.wait_for(1);
  auto bye = mcp_post(s.http, "", session);
  bye.method = "DELETE";
  BOOST_TEST(status_of(bye) == 204);
  s.held->wait_until_left();
  BOOST_TEST(call.get().body == "");
  BOOST_TEST(status_of(bye) == 404);
  BOOST_TEST(status_of(mcp_post(s.http, mcp_request(2, "ping", {}), session)) == 404);
}

BOOST_AUTO_TEST_CASE(a_connection_that_ends_leaves_its_call_alone) {
  http_served s;
  auto id = session_of(s.http);
  auto request = mcp_post(s.http, mcp_request(1, "tools/call", http_call("wait")),
                          {{"Mcp-Session-Id", id}});
  request.timeouts.total = milliseconds{50};
  BOOST_CHECK_THROW(http_fetch_and_wait(request), http_error);
  s.held->at.wait_for(1);
  BOOST_TEST(!s.held->is_left());
  BOOST_TEST(status_of(mcp_post(s.http, mcp_cancellation(1), {{"Mcp-Session-Id", id}})) == 202);
  s.held->wait_until_left();
}

BOOST_AUTO_TEST_CASE(who_has_no_session_may_only_begin_one) {
  http_served s;
  auto refused = http_fetch_and_wait(mcp_post(s.http, mcp_request(1, "tools/list", {})));
  BOOST_TEST(refused.head.status == 400);
  BOOST_TEST(from_json(refused.body, json_form::plain).value()["error"]["code"] == value(-32600));
  BOOST_TEST(status_of(mcp_post(s.http, "rubbish")) == 400);
  BOOST_TEST(status_of(mcp_post(s.http, "")) == 400);
  BOOST_TEST(status_of(mcp_post(s.http, mcp_notification("notifications/initialized", {}))) == 400);
  BOOST_TEST(
    status_of(mcp_post(s.http, mcp_request(1, "ping", {}), {{"Mcp-Session-Id", "guessed"}}))
    == 404);
  auto id = session_of(s.http);
  BOOST_TEST(id.size() == 36u);
  BOOST_TEST(id != session_of(s.http));
  http_headers session{{"Mcp-Session-Id", id}};
  BOOST_TEST(status_of(mcp_post(s.http, mcp_notification("notifications/initialized", {}), session))
             == 202);
  BOOST_TEST(status_of(mcp_post(s.http, mcp_request(1, "tools/list", {}), session)) == 200);
  BOOST_TEST(status_of(mcp_post(s.http, mcp_request(1, "nothing", {}), session)) == 200);
  BOOST_TEST(status_of(mcp_post(s.http, "[]", session)) == 400);
}

BOOST_AUTO_TEST_CASE(a_message_has_a_bound) {
  http_served s;
  auto ping = mcp_request(1, "ping", {});
  ping.resize(limits::mcp_message_bytes_max, ' ');
  http_headers session{{"Mcp-Session-Id", session_of(s.http)}};
  BOOST_TEST(status_of(mcp_post(s.http, ping, session)) == 200);
  BOOST_TEST(status_of(mcp_post(s.http, ping + ' ', session)) == 413);
}

BOOST_AUTO_TEST_CASE(a_server_that_drains_answers_what_runs_and_takes_no_more) {
  http_served s;
  auto client = http_client_of(s.http);
  auto call = std::async(std::launch::async,
                         [&] { return client.call_and_wait("wait", value::map()); });
  s.held->at.wait_for(1);
  BOOST_TEST(!s.http.drain(milliseconds{1}));
  BOOST_TEST(!client.ping());
  s.held->at.open();
  BOOST_TEST(call.get().value()["content"][0]["text"] == value("waited"));
  BOOST_TEST(s.http.drain());
}

// ---- who is refused -------------------------------------------------------------------------

struct gate_case {
  const char* name;
  http_headers headers;
  int status; // 0: it is let in
  bool is_loopback = true;
  const char* method = "POST";
  const char* target = "/mcp";
};
std::ostream& operator<<(std::ostream& out, const gate_case& c) {
  return out << c.name;
}
const http_headers good{{"host", "localhost:1"},
                        {"content-type", "application/json; charset=utf-8"},
                        {"accept", "application/json, text/event-stream"},
                        {"authorization", "Bearer k3y"}};
http_headers with(const char* name, const char* what) {
  auto out = good;
  std::erase_if(out, [name](const auto& h) { return h.first == name; });
  if (what)
    out.emplace_back(name, what);
  return out;
}
const std::vector<gate_case> gate_cases{
  {"good", good, 0},
  {"good, with a query", good, 0, true, "POST", "/mcp?x=1"},
  {"good, elsewhere", with("host", "anything"), 0, false},
  {"DELETE", good, 0, true, "DELETE"},
  {"any type accepted", with("accept", "*/*"), 0},
  {"events alone accepted", with("accept", "text/event-stream"), 0},
  {"127.0.0.1", with("host", "127.0.0.1:80"), 0},
  {"[::1]", with("host", "[::1]:80"), 0},
  {"a host that is allowed", with("host", "Box.Example:80"), 0},
  {"a page of this host", with("origin", "http://localhost:6274"), 0},
  {"a page that is allowed", with("origin", "https://app.example"), 0},
  {"a known version", with("mcp-protocol-version", "2025-06-18"), 0},
  {"another host", with("host", "evil.example:80"), 403},
  {"another host that begins so", with("host", "localhost.evil.example"), 403},
  {"no host", with("host", nullptr), 403},
  {"a page of another host", with("origin", "http://evil.example"), 403},
  {"a page of a host that begins so", with("origin", "http://localhost.evil.example"), 403},
  {"a page of nobody", with("origin", "null"), 403},
  {"an empty origin", with("origin", ""), 403},
  {"a page of this host, elsewhere", with("origin", "http://localhost:6274"), 403, false},
  {"no token", with("authorization", nullptr), 401},
  {"a shorter token", with("authorization", "Bearer k3"), 401},
  {"a longer token", with("authorization", "Bearer k3yy"), 401},
  {"another token", with("authorization", "Bearer k3z"), 401},
  {"another scheme", with("authorization", "Basic k3y"), 401},
  {"no token and another path", with("authorization", nullptr), 401, true, "POST", "/"},
  {"another path", good, 404, true, "POST", "/mcp/"},
  {"GET", good, 0, true, "GET"},
  {"GET without events", with("accept", "application/json"), 406, true, "GET"},
  {"GET without a token", with("authorization", nullptr), 401, true, "GET"},
  {"PUT", good, 405, true, "PUT"},
  {"OPTIONS", good, 405, true, "OPTIONS"},
  {"an unknown version", with("mcp-protocol-version", "1999-01-01"), 400},
  {"a form", with("content-type", "application/x-www-form-urlencoded"), 415},
  {"a text", with("content-type", "text/plain"), 415},
  {"no type", with("content-type", nullptr), 415},
  {"a page wanted", with("accept", "text/html"), 406},
};
BOOST_DATA_TEST_CASE(a_head_says_who_is_let_in, data::make(gate_cases), c) {
  mcp_http_options rules{
    .token = "k3y", .hosts = {"box.example"}, .origins = {"https://app.example"}};
  auto no = refused_by_head(rules, c.is_loopback,
                            {.method = c.method, .target = c.target, .headers = c.headers});
  BOOST_TEST((no ? no->status : 0) == c.status);
  if (no)
    BOOST_TEST(no->body.find("k3") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(strangers_are_refused_before_their_message_is_read) {
  http_served s{{.token = "k3y"}};
  auto big = std::string(8u << 20, ' ');
  BOOST_TEST(status_of(mcp_post(s.http, big)) == 401);
  BOOST_TEST(status_of(mcp_post(
               s.http, big, {{"Authorization", "Bearer k3y"}, {"Origin", "http://evil.example"}}))
             == 403);
  auto client = http_client_of(s.http, {}, {{"Authorization", "Bearer k3y"}});
  BOOST_TEST(client.tools().value().size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_address_that_makes_no_sense_is_refused_with_its_reason) {
  runtime rt;
  mcp_server server{rt, {}};
  auto why = [&](mcp_http_options options) -> std::string {
    try {
      mcp_http_server http{server, std::move(options)};
      return "";
    } catch (const error& e) {
      BOOST_TEST((e.code() == errc::invalid_config));
      return e.message();
    }
  };
  BOOST_TEST(why({.address = "0.0.0.0"})
             == "serve MCP over HTTP: a token is needed to listen beyond this host, at 0.0.0.0");
  BOOST_TEST(why({.address = "nowhere", .token = "k"})
             == "listen at `nowhere:0`: not a numeric IPv4 or IPv6 address");
  BOOST_TEST(why({.path = "mcp"}).find("path") != std::string::npos);
  BOOST_TEST(why({.sessions_max = 0}).find("sessions_max") != std::string::npos);
  mcp_http_server first{server};
  BOOST_TEST(why({.port = first.port()}).ends_with("Address already in use"));
}

// ---- sessions -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(sessions_have_a_bound_and_the_one_idle_for_longest_goes) {
  runtime rt;
  auto held = std::make_shared<held_calls>();
  mcp_server server{rt, {.tools = http_tools(held)}};
  mcp_http_sessions sessions{2, limits::mcp_session_idle};
  auto now = mcp_http_sessions::clock::now();
  auto client = [&] {
    auto out = std::make_shared<mcp_connection>(server.host());
    out->hear(mcp_request(0, "initialize", mcp_greeting()), {.then = [](const mcp_reply&) {}});
    return out;
  };
  auto busy = client();
  busy->hear(mcp_request(1, "tools/call", http_call("wait")), {.then = [](const mcp_reply&) {}});
  auto first = sessions.add(busy, now);
  auto second = sessions.add(client(), now + milliseconds{1});
  auto third = sessions.add(client(), now + milliseconds{2});
  BOOST_REQUIRE((first && second && third));
  BOOST_TEST(sessions.size() == 2u);
  BOOST_TEST(sessions.find(*first, now) == busy); // though it was idle for longer
  BOOST_TEST(!sessions.find(*second, now));
  sessions.find(*third, now)
    ->hear(mcp_request(1, "tools/call", http_call("wait")), {.then = [](const mcp_reply&) {}});
  BOOST_TEST(!sessions.add(client(), now).has_value());
}

BOOST_AUTO_TEST_CASE(a_session_that_is_idle_for_too_long_is_forgotten) {
  runtime rt;
  mcp_server server{rt, {}};
  mcp_http_sessions sessions{limits::mcp_sessions_max, limits::mcp_session_idle};
  auto now = mcp_http_sessions::clock::now();
  auto id = sessions.add(std::make_shared<mcp_connection>(server.host()), now).value();
  BOOST_TEST(bool(sessions.find(id, now += limits::mcp_session_idle)));
  BOOST_TEST(bool(sessions.find(id, now += limits::mcp_session_idle)));
  BOOST_TEST(!sessions.find(id, now + limits::mcp_session_idle + milliseconds{1}));
  BOOST_TEST(sessions.size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_client_whose_session_was_forgotten_begins_another_one) {
  http_served s{{.sessions_max = 1}};
  auto one = http_client_of(s.http);
  auto two = http_client_of(s.http); // takes its place
  auto answer = one.call_and_wait("echo", value::map({{"s", "a"}})).value();
  BOOST_TEST(answer["content"][0]["text"] == value("a"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
