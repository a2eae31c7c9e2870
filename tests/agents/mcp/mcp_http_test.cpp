// MCP servers over streamable HTTP.
#include "agents/mcp/mcp_protocol.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/limits.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

// The way in which a server delivers its answers.
struct mcp_delivery {
  bool stream = false;
  std::size_t chunk_bytes = 0;
  std::string before = {}; // of a stream, ahead of the answer
  bool stays_open = false; // after it
};

http_reply reply_with(const value& message, const mcp_delivery& how) {
  if (!how.stream)
    return {.headers = {{"Content-Type", "application/json"}},
            .body = {send_bytes{to_json(message)}}};
  auto text = how.before + "event: message\nid: 1\ndata: " + to_json(message) + "\n\n";
  raw_reply body;
  auto step = how.chunk_bytes > 0 ? how.chunk_bytes : text.size();
  for (std::size_t at = 0; at < text.size(); at += step)
    body.emplace_back(send_bytes{text.substr(at, step)});
  if (how.stays_open)
    body.emplace_back(wait_at{gate{}});
  return {
    .headers = {{"Content-Type", "text/event-stream"}}, .body = std::move(body), .chunked = true};
}

value answer_to(const value& asked) {
  const auto& method = asked["method"];
  value result = value::map();
  if (method == value("initialize"))
    result = value::map({{"protocolVersion", "2025-06-18"},
                         {"capabilities", value::map()},
                         {"serverInfo", value::map({{"name", "http"}})}});
  else if (method == value("tools/list"))
    result = value::map({{"tools", value::list({value::map({{"name", "echo"}})})}});
  else if (method == value("tools/call"))
    result = value::map(
      {{"content", value::list({value::map(
                     {{"type", "text"}, {"text", asked["params"]["arguments"]["s"]}})})}});
  return value::map({{"jsonrpc", "2.0"}, {"id", asked["id"]}, {"result", std::move(result)}});
}

// A server of this kind; `calls` answers tools/call instead.
responder mcp_responder(mcp_delivery how = {}, responder calls = {}) {
  return [=](const seen_request& request) {
    if (!request.body.contains("id") || !request.body.contains("method"))
      return to_raw({.status = request.method == "DELETE" ? 405 : 202});
    if (calls && request.body["method"] == value("tools/call"))
      return calls(request);
    auto reply = reply_with(answer_to(request.body), how);
    if (request.body["method"] == value("initialize"))
      reply.headers.emplace_back("Mcp-Session-Id", "s1");
    return to_raw(std::move(reply));
  };
}

mcp_client connected_to(const fake_provider& provider, mcp_options options = {}) {
  return mcp_client::connect(mcp_endpoint{.url = provider.url() + "/mcp",
                                          .headers = {{"Authorization", "Bearer k"}}},
                             std::move(options))
    .value();
}

std::string echoed(const mcp_client& client, const std::string& text) {
  auto answer = client.call_and_wait("echo", value::map({{"s", text}}));
  return answer ? (*answer)["content"][0]["text"].as<std::string>()
                : std::string{to_string(answer.error().code())} + ' ' + answer.error().text();
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_http)

BOOST_AUTO_TEST_CASE(a_session_has_its_headers_from_the_greeting_to_its_end) {
  fake_provider provider;
  provider.always(mcp_responder());
  {
    auto client = connected_to(provider);
    BOOST_TEST(client.server_info()["name"] == value("http"));
    BOOST_TEST(client.tools().value().size() == 1u);
    BOOST_TEST(echoed(client, "grüß") == "grüß");
  }
  provider.wait_for_requests(5);
  auto seen = provider.requests();
  std::vector<std::string> methods;
  for (const auto& r : seen) {
    methods.push_back(r.body.is_map() ? r.body["method"].as<std::string>() : r.method);
    BOOST_TEST(r.header_of("Authorization") == "Bearer k");
    BOOST_TEST(r.header_of("Mcp-Session-Id") == (&r == &seen[0] ? "" : "s1"));
    BOOST_TEST(r.header_of("Mcp-Protocol-Version") == (&r == &seen[0] ? "" : "2025-06-18"));
  }
  BOOST_TEST(methods
               == (std::vector<std::string>{"initialize", "notifications/initialized", "tools/list",
                                            "tools/call", "DELETE"}),
             boost::test_tools::per_element());
  BOOST_TEST(seen[0].header_of("Accept") == "application/json, text/event-stream");
}

BOOST_AUTO_TEST_CASE(an_answer_may_come_as_an_event_behind_others_on_a_stream_that_stays_open) {
  fake_provider provider;
  auto complaints = std::make_shared<std::atomic<int>>(0);
  provider.always(mcp_responder(
    {.stream = true,
     .before = ": hello\n\nid: 0\ndata:\n\nevent: other\ndata: {\"id\":0}\n\n"
               "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
               "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\n",
     .stays_open = true}));
  auto client = connected_to(provider, {.on_log = [complaints](auto) { ++*complaints; }});
  BOOST_TEST(client.tools_changed());
  BOOST_TEST(echoed(client, "a") == "a");
  BOOST_TEST(*complaints == 0);
  provider.wait_for_closed(2); // the client has heard enough
  provider.wait_for_requests(5);
  std::size_t pongs = 0;
  for (const auto& r : provider.requests())
    pongs += r.text == R"({"id": "q", "jsonrpc": "2.0", "result": {}})";
  BOOST_TEST(pongs == 2u);
}

BOOST_DATA_TEST_CASE(a_stream_in_pieces_of_any_size_is_read, data::make({1, 2, 3, 7}), bytes) {
  fake_provider provider;
  provider.always(mcp_responder({.stream = true, .chunk_bytes = static_cast<std::size_t>(bytes)}));
  auto client = connected_to(provider);
  BOOST_TEST(echoed(client, "grüß 🙂\n") == "grüß 🙂\n");
}

struct fault_case {
  const char* name;
  responder fault;
  const char* refusal;
};
std::ostream& operator<<(std::ostream& out, const fault_case& c) {
  return out << c.name;
}
http_reply body_of_type(const char* type, std::string body) {
  return {.headers = {{"Content-Type", type}}, .body = {send_bytes{std::move(body)}}};
}
const std::vector<fault_case> faults{
  {"500", fails(500, "no"), "node_failed status 500: no"},
  {"404 again and again", fails(404, "no"), "node_failed status 404: no"},
  {"html", replies(body_of_type("text/html", "<p>")),
   "node_failed Unexpected content type: 'text/html'"},
  {"no JSON", replies(body_of_type("application/json", "{")),
   "node_failed s: the response does not contain the answer"},
  {"another's answer",
   replies(body_of_type("application/json", R"({"jsonrpc":"2.0","id":0,"result":{}})")),
   "node_failed s: the response does not contain the answer"},
  {"a stream without it", replies(body_of_type("text/event-stream", "data: {}\n\n")),
   "node_failed s: the response does not contain the answer"},
  {"too large",
   replies(
     {.headers = {{"Content-Type", "application/json"}},
      .body = {send_again{std::string(1 << 20, ' '), (limits::mcp_message_bytes_max >> 20) + 1}},
      .chunked = true}),
   "node_failed s: a message of more than 16777216 bytes"},
  {"202", replies({.status = 202}), "node_failed status 202"},
};
BOOST_DATA_TEST_CASE(one_request_that_fails_fails_nothing_else, data::make(faults), c) {
  fake_provider provider;
  std::atomic<bool> healthy{true};
  provider.always(mcp_responder({}, [&](const seen_request& r) {
    return healthy ? to_raw(reply_with(answer_to(r.body), {})) : c.fault(r);
  }));
  auto client = connected_to(provider, {.name = "s"});
  healthy = false;
  BOOST_TEST(echoed(client, "a") == c.refusal);
  healthy = true;
  BOOST_TEST(echoed(client, "a") == "a");
}

BOOST_AUTO_TEST_CASE(a_session_that_the_server_forgot_is_begun_anew) {
  fake_provider provider;
  std::size_t calls = 0; // of the server's thread
  provider.always(mcp_responder({}, [&](const seen_request& r) {
    return ++calls == 1 ? fails(404)(r) : to_raw(reply_with(answer_to(r.body), {}));
  }));
  auto client = connected_to(provider);
  BOOST_TEST(echoed(client, "a") == "a");
  auto seen = provider.requests();
  BOOST_REQUIRE(seen.size() == 6u);
  BOOST_TEST(seen[3].header_of("Mcp-Session-Id") == ""); // greeted again
  BOOST_TEST(seen[5].body == seen[2].body);
}

BOOST_AUTO_TEST_CASE(a_late_answer_fails_its_call_and_is_cancelled_at_the_server) {
  fake_provider provider;
  provider.always(mcp_responder({}, raw({wait_at{gate{}}})));
  auto client = connected_to(provider, {.call_timeout = milliseconds{1}});
  BOOST_TEST(echoed(client, "a").starts_with("node_timeout "));
  provider.wait_for_requests(4);
  BOOST_TEST(provider.requests()[3].body["method"] == value("notifications/cancelled"));
  BOOST_TEST(provider.requests()[3].body["params"]["requestId"] == value(1));
}

BOOST_AUTO_TEST_CASE(where_nobody_answers_there_is_no_client) {
  std::string url;
  {
    fake_provider provider;
    url = provider.url();
  }
  auto client = mcp_client::connect(mcp_endpoint{.url = url});
  BOOST_REQUIRE(!client);
  BOOST_TEST(client.error().type() == "HTTPError");
  BOOST_TEST(
    (mcp_client::connect(mcp_endpoint{.url = "file:///x"}).error().code() == errc::invalid_value));
}

// ---- the server's own stream ------------------------------------------------------------------

const char* const list_changed =
  R"(data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"
  "\n\n";

// A server that announces changes, and answers a GET with these bytes in turn; then with 405.
struct pushing_server {
  explicit pushing_server(std::vector<raw_reply> bodies, std::optional<gate> answers = {}) {
    auto left = std::make_shared<std::vector<raw_reply>>(std::move(bodies));
    provider.always([left, answers, plain = mcp_responder()](const seen_request& r) {
      if (r.method == "GET" && left->empty())
        return to_raw({.status = 405});
      if (r.method == "GET") {
        auto body = std::move(left->front());
        left->erase(left->begin());
        return to_raw({.headers = {{"Content-Type", "text/event-stream"}},
                       .body = std::move(body),
                       .chunked = true});
      }
      if (answers && r.body.contains("result"))
        return raw_reply{wait_at{*answers}, send_bytes{"HTTP/1.1 202 Accepted\r\n\r\n"}};
      if (r.body["method"] != value("initialize"))
        return plain(r);
      auto answer = answer_to(r.body);
      auto can = value::map({{"tools", value::map({{"listChanged", true}})}});
      return to_raw(reply_with(
        answer.with("result", answer["result"].with("capabilities", std::move(can))), {}));
    });
  }
  std::vector<seen_request> gets(std::size_t n) const {
    for (;;) {
      std::vector<seen_request> out;
      auto all = provider.requests();
      std::ranges::copy_if(all, std::back_inserter(out),
                           [](const auto& r) { return r.method == "GET"; });
      if (out.size() >= n)
        return out;
      provider.wait_for_requests(all.size() + 1);
    }
  }
  fake_provider provider;
};

BOOST_AUTO_TEST_CASE(a_stream_that_ended_is_opened_again_after_its_last_event) {
  auto first = std::string{"retry: 1\nid: 7\n"} + list_changed;
  pushing_server server{{{send_bytes{first}}, {send_bytes{list_changed}}}};
  auto changes = std::make_shared<std::atomic<int>>(0);
  auto client = connected_to(server.provider,
                             {.on_change = [changes](const mcp_change&) { ++*changes; }});
  auto gets = server.gets(3); // the third is refused, so no further one comes
  BOOST_TEST(gets[0].header_of("Last-Event-ID") == "");
  BOOST_TEST(gets[0].header_of("Accept") == "text/event-stream");
  BOOST_TEST(gets[0].header_of("Authorization") == "Bearer k");
  BOOST_TEST(gets[1].header_of("Last-Event-ID") == "7");
  BOOST_TEST(*changes == 2);
  BOOST_TEST(client.tools_changed());
}

BOOST_AUTO_TEST_CASE(a_stream_that_ends_again_and_again_is_given_up) {
  std::vector<raw_reply> bodies(limits::mcp_stream_retries_max + 1,
                                raw_reply{send_bytes{"retry: 1\n\n"}});
  pushing_server server{std::move(bodies)};
  auto client = connected_to(server.provider);
  server.gets(limits::mcp_stream_retries_max + 1);
  auto later = std::chrono::steady_clock::now() + milliseconds{100};
  while (std::chrono::steady_clock::now() < later)
    client.ping().value();
  BOOST_TEST(server.gets(1).size() == limits::mcp_stream_retries_max + 1);
}

// ---- a response that ends before its answer ---------------------------------------------------

std::string answer_event(const seen_request& call) {
  return "data: " + to_json(answer_to(call.body)) + "\n\n";
}

// Answers a call with an event that has an id and no answer, and GETs by `later`.
responder cut_responses(std::function<raw_reply(const seen_request& call, int get)> later) {
  auto call = std::make_shared<seen_request>();
  auto gets = std::make_shared<std::atomic<int>>(0);
  auto plain = mcp_responder({}, [call](const seen_request& r) {
    *call = r;
    return to_raw({.headers = {{"Content-Type", "text/event-stream"}},
                   .body = {send_bytes{"retry: 1\nid: e0\ndata: \n\n"}},
                   .chunked = true});
  });
  return
    [=](const seen_request& r) { return r.method == "GET" ? later(*call, (*gets)++) : plain(r); };
}

raw_reply event_stream(std::string bytes) {
  return to_raw({.headers = {{"Content-Type", "text/event-stream"}},
                 .body = {send_bytes{std::move(bytes)}},
                 .chunked = true});
}

BOOST_AUTO_TEST_CASE(a_response_that_ended_before_its_answer_is_read_on) {
  fake_provider provider;
  provider.always(cut_responses([](const seen_request& call, int get) {
    return event_stream(get == 0 ? "retry: 1\nid: e1\ndata: \n\n" : answer_event(call));
  }));
  auto client = connected_to(provider);
  BOOST_TEST(echoed(client, "late") == "late");
  std::vector<std::string> ids;
  std::size_t posts = 0;
  for (const auto& r : provider.requests()) {
    if (r.method == "GET")
      ids.push_back(r.header_of("Last-Event-ID"));
    posts += r.body.is_map() && r.body["method"] == value("tools/call") ? 1 : 0;
  }
  BOOST_TEST(ids == (std::vector<std::string>{"e0", "e1"}), boost::test_tools::per_element());
  BOOST_TEST(posts == 1u); // the call is not made twice
}

BOOST_AUTO_TEST_CASE(a_response_that_never_has_its_answer_is_given_up) {
  fake_provider provider;
  provider.always(
    cut_responses([](const seen_request&, int) { return event_stream("retry: 1\n\n"); }));
  auto client = connected_to(provider, {.name = "s"});
  BOOST_TEST(echoed(client, "x") == "node_failed s: the response does not contain the answer");
  provider.always(cut_responses([](const seen_request&, int) { return to_raw({.status = 405}); }));
  BOOST_TEST(echoed(client, "x") == "node_failed status 405");
  provider.always(cut_responses([](const seen_request&, int get) {
    return event_stream("id: e" + std::to_string(get) + "\ndata: \n\n");
  }));
  auto hasty = connected_to(provider, {.name = "s", .call_timeout = milliseconds{300}});
  BOOST_TEST(echoed(hasty, "x").starts_with("node_timeout ")); // however many events come
}

BOOST_AUTO_TEST_CASE(a_server_that_asks_without_an_end_gets_so_many_answers_at_a_time) {
  gate held; // until then the server takes no answer
  std::string pings;
  for (std::size_t i = 0; i < 2 * limits::mcp_replies_max; ++i)
    pings += "data: " + mcp_request(static_cast<std::int64_t>(i), "ping", {}) + "\n\n";
  pushing_server server{{{send_bytes{pings}, send_bytes{list_changed}}}, held};
  std::promise<void> heard_all;
  auto client = connected_to(server.provider,
                             {.on_change = [&](const mcp_change&) { heard_all.set_value(); }});
  heard_all.get_future().get();
  auto answers = [&] {
    auto all = server.provider.requests();
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& r) {
      return r.body.is_map() && r.body.contains("result");
    }));
  };
  while (answers() < limits::mcp_replies_max)
    server.provider.wait_for_requests(server.provider.requests().size() + 1);
  BOOST_TEST(bool(client.ping())); // questions are not held up
  BOOST_TEST(answers() == limits::mcp_replies_max);
  held.open();
}

BOOST_AUTO_TEST_CASE(an_event_beyond_its_bound_ends_the_stream_and_no_call) {
  pushing_server server{{{send_bytes{"data: "}, send_again{std::string(1 << 20, 'x'), 17}}}};
  auto client = connected_to(server.provider);
  server.provider.wait_for_closed(1);
  BOOST_TEST(bool(client.ping()));
  BOOST_TEST(server.gets(1).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
