// Messages from a client to a server of MCP: good ones, and all others.
#include "agents/mcp/mcp_protocol.hpp"
#include "agents/mcp/mcp_server_session.hpp"
#include "agents/messages/json_text.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;

std::shared_ptr<mcp_listing> listing_of(std::size_t tools) {
  mcp_listing out;
  out.server_info = value::map({{"name", "s"}, {"version", "1"}});
  for (std::size_t i = 0; i < tools; ++i)
    out.tools.push_back(value::map({{"name", "t" + std::to_string(i)}}));
  return std::make_shared<mcp_listing>(std::move(out));
}

value greeting_of(const char* version) {
  return value::map({{"protocolVersion", version}});
}

mcp_server_session greeted_session(std::shared_ptr<const mcp_listing> listing = listing_of(2)) {
  mcp_server_session out{std::move(listing)};
  out.hear(mcp_request(0, "initialize", greeting_of("2025-11-25")));
  return out;
}

value call_of(const char* name, value arguments = value::map()) {
  return value::map({{"name", name}, {"arguments", std::move(arguments)}});
}

value said_by(const mcp_server_session::heard& heard) {
  return from_json(heard.reply, json_form::plain).value();
}

std::int64_t code_in(const mcp_server_session::heard& heard) {
  return heard.reply.empty() ? 0 : said_by(heard)["error"]["code"].as_int();
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_session)

struct heard_case {
  std::string text;
  const char* reply;
};
std::ostream& operator<<(std::ostream& out, const heard_case& c) {
  return out << c.text.substr(0, 80);
}
std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}
const char* const parse_error =
  R"({"error": {"code": -32700, "message": "Parse error"}, "jsonrpc": "2.0"})";
const std::vector<heard_case> without_an_id{
  {"{", parse_error},
  {"", parse_error},
  {"rubbish", parse_error},
  {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", parse_error},
  {nested(limits::value_depth_max + 1), parse_error},
  {nested(limits::value_depth_max),
   R"({"error": {"code": -32600, "message": "Invalid Request: not a message of JSON-RPC 2.0"}, "jsonrpc": "2.0"})"},
  {"[]",
   R"({"error": {"code": -32600, "message": "Invalid Request: not a message of JSON-RPC 2.0"}, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
   R"({"error": {"code": -32600, "message": "Invalid Request: its id is neither a text nor an integer"}, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})",
   R"({"error": {"code": -32600, "message": "Invalid Request: its id is neither a text nor an integer"}, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":{"$bytes":"aGk="},"method":"ping"})",
   R"({"error": {"code": -32600, "message": "Invalid Request: its id is neither a text nor an integer"}, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0"})",
   R"({"error": {"code": -32600, "message": "Invalid Request: its method is missing"}, "jsonrpc": "2.0"})"},
};
BOOST_DATA_TEST_CASE(what_has_no_id_is_refused_without_one, data::make(without_an_id), c) {
  auto session = greeted_session();
  auto heard = session.hear(c.text);
  BOOST_TEST(heard.reply == c.reply);
  BOOST_TEST(heard.refused);
  BOOST_TEST(!heard.call.has_value());
}

const std::vector<heard_case> with_an_id{
  {R"({"jsonrpc":"2.0","id":"a","method":"ping"})",
   R"({"id": "a", "jsonrpc": "2.0", "result": {}})"},
  {R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
   R"({"error": {"code": -32600, "message": "Invalid Request: not a message of JSON-RPC 2.0"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":2})",
   R"({"error": {"code": -32600, "message": "Invalid Request: its method is not a text"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1})",
   R"({"error": {"code": -32600, "message": "Invalid Request: its method is missing"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"completion/complete"})",
   R"({"error": {"code": -32601, "message": "Method not found"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]})",
   R"({"error": {"code": -32602, "message": "Invalid params: not an object"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}})",
   R"({"error": {"code": -32602, "message": "Invalid params: unknown cursor"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}})",
   R"({"error": {"code": -32602, "message": "Invalid params: unknown cursor"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"-1"}})",
   R"({"error": {"code": -32602, "message": "Invalid params: unknown cursor"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})",
   R"({"error": {"code": -32602, "message": "Invalid params: the name of the tool is missing"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t0","arguments":"x"}})",
   R"({"error": {"code": -32602, "message": "Invalid params: arguments must be an object"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody"}})",
   R"({"error": {"code": -32602, "message": "Unknown tool: nobody"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})",
   R"({"error": {"code": -32600, "message": "Invalid Request: it was initialized before"}, "id": 1, "jsonrpc": "2.0"})"},
  {R"({"jsonrpc":"2.0","id":1,"method":"initialize"})",
   R"({"error": {"code": -32602, "message": "Invalid params: protocolVersion is missing"}, "id": 1, "jsonrpc": "2.0"})"},
};
BOOST_DATA_TEST_CASE(a_request_is_answered_with_its_id, data::make(with_an_id), c) {
  auto session = greeted_session();
  auto heard = session.hear(c.text);
  BOOST_TEST(heard.reply == c.reply);
  BOOST_TEST(!heard.refused);
  BOOST_TEST(!heard.call.has_value());
}

BOOST_DATA_TEST_CASE(what_asks_nothing_is_not_answered,
                     data::make({R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
                                 R"({"jsonrpc":"2.0","method":"tools/call"})",
                                 R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
                                 R"({"jsonrpc":"2.0","id":1,"result":{}})",
                                 R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})"}),
                     text) {
  auto session = greeted_session();
  auto heard = session.hear(text);
  BOOST_TEST(heard.reply == "");
  BOOST_TEST(!heard.call.has_value());
}

BOOST_AUTO_TEST_CASE(before_the_greeting_only_a_ping_is_answered) {
  mcp_server_session session{listing_of(1)};
  BOOST_TEST(code_in(session.hear(mcp_request(1, "tools/list", {}))) == -32600);
  BOOST_TEST(code_in(session.hear(mcp_request(2, "tools/call", call_of("t0")))) == -32600);
  BOOST_TEST(said_by(session.hear(mcp_request(3, "ping", {})))["result"].is_map());
  BOOST_TEST(!session.is_greeted());
}

BOOST_AUTO_TEST_CASE(a_stateless_session_answers_without_a_greeting_and_offers_tools_alone) {
  auto listing = std::make_shared<mcp_listing>(*listing_of(2));
  listing->is_stateless = true;
  auto said = [&](const char* method, const value& params = {}) {
    return mcp_server_session{listing}.hear(mcp_request(1, method, params));
  };
  BOOST_TEST(said_by(said("tools/list"))["result"]["tools"].size() == 2u);
  BOOST_TEST(said("tools/call", call_of("t1")).call.has_value());
  for (const char* other : {"resources/list", "resources/read", "prompts/list", "prompts/get"})
    BOOST_TEST(code_in(said(other)) == -32601, other);
  auto greeting = said_by(said("initialize", greeting_of("2025-03-26")))["result"];
  BOOST_TEST(to_json(greeting["capabilities"]) == R"({"tools":{"listChanged":false}})");
  BOOST_TEST(greeting["protocolVersion"] == value("2025-03-26"));
}

BOOST_AUTO_TEST_CASE(the_version_is_the_client_s_where_it_is_known_else_the_newest) {
  auto agreed = [](const char* offered) {
    mcp_server_session session{listing_of(1)};
    return said_by(session.hear(mcp_request(0, "initialize", greeting_of(offered))))["result"];
  };
  for (const char* known : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
    BOOST_TEST(agreed(known)["protocolVersion"] == value(known));
  BOOST_TEST(agreed("1999-01-01")["protocolVersion"] == value("2025-11-25"));
  BOOST_TEST(
    to_json(agreed("2025-06-18"))
    == R"({"capabilities":{"prompts":{"listChanged":true},)"
       R"("resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}},)"
       R"("protocolVersion":"2025-06-18",)"
       R"("serverInfo":{"name":"s","version":"1"}})");
}

BOOST_AUTO_TEST_CASE(tools_are_listed_in_pages) {
  auto pages = [](std::size_t tools) {
    auto session = greeted_session(listing_of(tools));
    std::vector<std::size_t> sizes;
    value params;
    for (;;) {
      auto page = said_by(session.hear(mcp_request(1, "tools/list", params)))["result"];
      sizes.push_back(page["tools"].size());
      if (!page.contains("nextCursor"))
        return sizes;
      params = value::map({{"cursor", page["nextCursor"]}});
    }
  };
  constexpr auto most = limits::mcp_page_tools_max;
  using sizes = std::vector<std::size_t>;
  BOOST_TEST(pages(0) == sizes{0}, boost::test_tools::per_element());
  BOOST_TEST(pages(most) == sizes{most}, boost::test_tools::per_element());
  BOOST_TEST(pages(2 * most + 1) == (sizes{most, most, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_call_begins_and_is_answered_once) {
  auto session = greeted_session();
  auto heard = session.hear(mcp_request(7, "tools/call", call_of("t1", value::map({{"a", 1}}))));
  BOOST_TEST(heard.reply == "");
  BOOST_REQUIRE(heard.call.has_value());
  BOOST_TEST(heard.call->place == 1u);
  BOOST_TEST(heard.call->arguments == value::map({{"a", 1}}));
  auto number = heard.call->number;
  BOOST_TEST(session.answer(number, value::map({{"$bytes", "aGk="}}))
             == R"({"id": 7, "jsonrpc": "2.0", "result": {"$bytes": "aGk="}})");
  BOOST_TEST(session.answer(number, value::map()) == "");
  BOOST_TEST(session.running() == 0u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_call_is_not_answered_and_others_are) {
  auto session = greeted_session();
  auto one =
    session.hear(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t0"}})");
  auto text =
    session.hear(R"({"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t0"}})");
  BOOST_TEST(!session.hear(mcp_cancellation(2)).cancelled.has_value());
  auto cancelled = session.hear(mcp_cancellation(1)).cancelled;
  BOOST_REQUIRE(cancelled.has_value());
  BOOST_TEST(*cancelled == one.call->number);
  BOOST_TEST(session.answer(one.call->number, value::map()) == "");
  BOOST_TEST(session.answer(text.call->number, value::map())
             == R"({"id": "1", "jsonrpc": "2.0", "result": {}})");
  BOOST_TEST(!session.hear(mcp_cancellation(1)).cancelled.has_value());
}

BOOST_AUTO_TEST_CASE(an_id_that_a_running_call_has_is_refused) {
  auto session = greeted_session();
  auto call = session.hear(mcp_request(1, "tools/call", call_of("t0"))).call;
  BOOST_TEST(code_in(session.hear(mcp_request(1, "tools/call", call_of("t0")))) == -32600);
  session.answer(call->number, value::map());
  BOOST_TEST(session.hear(mcp_request(1, "tools/call", call_of("t0"))).call.has_value());
}

BOOST_AUTO_TEST_CASE(a_client_has_so_many_calls_at_a_time_and_no_more) {
  auto session = greeted_session();
  std::optional<mcp_served_call> last;
  std::int64_t id = 1;
  for (; id <= static_cast<std::int64_t>(limits::mcp_served_calls_max); ++id) {
    last = session.hear(mcp_request(id, "tools/call", call_of("t0"))).call;
    BOOST_REQUIRE(last.has_value());
  }
  auto refused = session.hear(mcp_request(id, "tools/call", call_of("t0")));
  BOOST_TEST(code_in(refused) == -32000);
  BOOST_TEST(said_by(refused)["error"]["message"] == value("Too many calls: 256 are running"));
  session.answer(last->number, value::map());
  BOOST_TEST(session.hear(mcp_request(id, "tools/call", call_of("t0"))).call.has_value());
}

BOOST_AUTO_TEST_CASE(a_result_that_no_client_could_read_is_an_error_that_says_so) {
  auto session = greeted_session();
  auto answered = [&](const value& result) {
    auto call = session.hear(mcp_request(1, "tools/call", call_of("t0"))).call;
    return from_json(session.answer(call->number, result), json_form::plain).value()["result"];
  };
  auto deep = [](std::size_t levels) {
    auto out = value::map();
    for (std::size_t i = 1; i < levels; ++i)
      out = value::map({{"a", out}});
    return out;
  };
  BOOST_TEST(answered(deep(limits::value_depth_max - 1)).contains("a"));
  auto refused = answered(deep(limits::value_depth_max));
  BOOST_TEST(refused["isError"] == value(true));
  BOOST_TEST(refused["content"][0]["text"]
             == value("Error: the result is nested more deeply than value_depth_max (128)"));
  auto of_size = [&](std::size_t bytes) { return value::map({{"a", std::string(bytes, 'x')}}); };
  auto frame = mcp_answer(1, of_size(0)).size();
  BOOST_TEST(answered(of_size(limits::mcp_message_bytes_max - frame)).contains("a"));
  refused = answered(of_size(limits::mcp_message_bytes_max - frame + 1));
  BOOST_TEST(refused["content"][0]["text"]
             == value("Error: the result has more than mcp_message_bytes_max (16777216) bytes"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
