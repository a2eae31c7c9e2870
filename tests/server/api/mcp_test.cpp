// The server as a server of MCP.
#include "server/api/rpc_answer.hpp"
#include "tests/server/served_rooms.hpp"

#include <boost/test/data/test_case.hpp>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

constexpr const char* takes_both = "Accept: application/json, text/event-stream\r\n";

heard_answer mcp(const served_rooms& server, const char* method, const value& params = {}) {
  auto message = value::map({{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}});
  return server.post("/mcp", params.is_null() ? message : message.with("params", params),
                     takes_both);
}

value call_of_tool(const char* name, const value& arguments) {
  return value::map({{"name", name}, {"arguments", arguments}});
}

struct media_case {
  const char* accept;
  bool json;
  bool events;
};
std::ostream& operator<<(std::ostream& out, const media_case& c) {
  return out << c.accept;
}
const std::vector<media_case> media_cases{{"", true, true},
                                          {"*/*", true, true},
                                          {"Application/JSON", true, false},
                                          {"text/event-stream;q=1", false, true},
                                          {"application/json, text/event-stream", true, true},
                                          {"text/html", false, false}};

struct refused_message {
  const char* body;
  int status;
  const char* answer;
};
std::ostream& operator<<(std::ostream& out, const refused_message& c) {
  return out << c.body;
}
const std::vector<refused_message> refused_messages{
  {"{", 400, R"({"error":"Invalid JSON"})"},
  {"[]", 400, "Invalid Request"},
  {R"({"jsonrpc":"2.0","id":1,"method":"foo/bar"})", 200, "-32601"},
  {R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})", 200, "-32601"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}})", 200,
   "Unknown tool: nope"}};

} // namespace

BOOST_AUTO_TEST_SUITE(server_mcp)

BOOST_DATA_TEST_CASE(accepted_media_are_read, data::make(media_cases), one) {
  auto read = media_accepted(one.accept);
  BOOST_TEST(read.json == one.json);
  BOOST_TEST(read.events == one.events);
}

BOOST_AUTO_TEST_CASE(a_client_is_greeted_and_needs_no_session) {
  served_rooms server;
  auto greeting = mcp(server, "initialize", value::map({{"protocolVersion", "2025-03-26"}}));
  BOOST_TEST(greeting.status == 200);
  BOOST_TEST(greeting.json()["result"]["protocolVersion"] == value("2025-03-26"));
  BOOST_TEST(to_json(greeting.json()["result"]["capabilities"])
             == R"({"tools":{"listChanged":false}})");
  auto told = server.post(
    "/mcp", value::map({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}), takes_both);
  BOOST_TEST(told.status == 202);
  BOOST_TEST(told.body.empty());
  BOOST_TEST(mcp(server, "ping").json()["result"] == value::map());
}

BOOST_AUTO_TEST_CASE(each_assistant_is_a_tool) {
  served_rooms server;
  server.add_assistant(new_id(1), "plain", "My plain");
  server.add_assistant(new_id(2), "gone", "without its graph");
  auto tools = mcp(server, "tools/list").json()["result"]["tools"];
  std::vector<std::string> names;
  for (const auto& one : tools.items())
    names.push_back(one["name"].as<std::string>());
  std::ranges::sort(names);
  BOOST_TEST(
    names
      == (std::vector<std::string>{"My_plain", "ask", "chat", "fail", "narrow", "plain", "silent"}),
    boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_call_is_a_run_whose_thread_goes) {
  served_rooms server;
  auto answer = mcp(server, "tools/call", call_of_tool("plain", value::map({{"count", 2}}))).json();
  BOOST_TEST(to_json(answer)
             == R"({"id":1,"jsonrpc":"2.0","result":{"content":[)"
                R"({"text":"{'count': 3, 'log': ['a']}","type":"text"}]}})");
  BOOST_TEST(server.post("/threads/count", value::map()).body == "0");
}

BOOST_AUTO_TEST_CASE(a_call_of_a_graph_that_talks_takes_a_text) {
  served_rooms server;
  auto answer =
    mcp(server, "tools/call", call_of_tool("chat", value::map({{"messages", "hi"}}))).json();
  auto text = answer["result"]["content"][0]["text"].as<std::string>();
  BOOST_TEST(text.find("'content': 'hi'") != text.npos, text);
  BOOST_TEST(text.find("'content': 'Hello there'") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(a_failed_run_is_a_result_with_an_error) {
  served_rooms server;
  auto answer = mcp(server, "tools/call", call_of_tool("fail", value::map())).json();
  BOOST_TEST(answer["result"]["isError"] == value(true));
  BOOST_TEST(answer["result"]["content"][0]["text"] == value("ValueError"));
}

BOOST_AUTO_TEST_CASE(a_client_that_takes_events_alone_gets_an_event) {
  served_rooms server;
  auto body = to_json(value::map({{"jsonrpc", "2.0"},
                                  {"id", "a"},
                                  {"method", "tools/call"},
                                  {"params", call_of_tool("plain", value::map())}}));
  auto answer = server.ask("POST", "/mcp", body, "Accept: text/event-stream\r\n");
  BOOST_TEST(answer.has_header("Content-Type: text/event-stream"));
  BOOST_TEST(answer.body.starts_with(R"(event: message
data: {"id": "a",)"),
             answer.body);
}

BOOST_DATA_TEST_CASE(a_wrong_message_is_refused, data::make(refused_messages), one) {
  served_rooms server;
  auto answer = server.ask("POST", "/mcp", one.body, takes_both);
  BOOST_TEST(answer.status == one.status);
  BOOST_TEST(answer.body.find(one.answer) != answer.body.npos, answer.body);
}

BOOST_AUTO_TEST_CASE(headers_that_fit_no_answer_are_refused) {
  served_rooms server;
  auto ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  BOOST_TEST(server.ask("POST", "/mcp", ping, "Accept: text/html\r\n").status == 400);
  BOOST_TEST(server.ask("POST", "/mcp", ping, "Mcp-Protocol-Version: 1999-01-01\r\n").status
             == 400);
  BOOST_TEST(server.ask("POST", "/mcp", ping, "Mcp-Protocol-Version: 2025-06-18\r\n").status
             == 200);
}

BOOST_AUTO_TEST_CASE(there_is_no_stream_and_no_session) {
  served_rooms server;
  BOOST_TEST(server.ask("GET", "/mcp").status == 405);
  BOOST_TEST(server.ask("GET", "/mcp").has_header("Allow: POST\r\n"));
  BOOST_TEST(server.ask("DELETE", "/mcp").status == 404);
}

BOOST_AUTO_TEST_CASE(handlers_of_messages_alone_ask_the_authoriser_themselves) {
  served_rooms server;
  std::vector<std::string> unasked;
  for (const auto& one : server.all_routes)
    if (!one.is_public && one.access.resource.empty())
      unasked.push_back(std::string{one.method} + ' ' + std::string{one.pattern});
  std::vector<std::string> expected{"DELETE /mcp", "GET /mcp", "POST /a2a/{assistant_id}",
                                    "POST /mcp"};
  std::ranges::sort(unasked);
  BOOST_TEST(unasked == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
