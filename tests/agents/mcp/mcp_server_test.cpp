// A server of MCP and its clients in the same process: tools, offers, calls that take their time.
#include "agents/mcp/mcp_transport.hpp"
#include "tests/agents/mcp/held_tool.hpp"
#include "tests/agents/mcp/served_graphs.hpp"
#include "tests/fixtures/os_threads.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/mcp_server.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/completion.hpp>
#include <troupe/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

std::vector<tool> some_tools() {
  return {
    tool{"greet", "Greets", [](arg<"name", std::string> name) { return "Hello, " + *name; }},
    tool{"sum",
         "Adds",
         [](arg<"a", int> a, arg<"b", int> b) {
           return value::map({{"sum", *a + *b}});
         },
         {.output = json_schema<std::map<std::string, int>>()}},
    tool{"list", "",
         [] {
           return value::list({1, 2});
         }},
    tool{"draw", "",
         [] {
           return value::list({text_block("here"), image_block("aGk=", "image/png"),
                               image_url_block("https://x.example/a.png")});
         }},
    tool{"fail", "", []() -> std::string { throw std::runtime_error{"no luck"}; }},
    tool{"ask", "", [](tool_runtime& run) { return run.interrupt("sure?"); }},
    tool{"mime", "",
         [] {
           return value::list(
             {value::map({{"type", "file"}, {"base64", "aGk="}, {"mime_type", "text/csv"}})});
         }},
  };
}

// The message that an agent's tool node makes of one call of a client's tool.
value message_of(const mcp_client& client, const char* name, value args = value::map()) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{client.tools().value()});
  g.add_edge(START, "tools");
  runtime rt;
  auto asked = ai_message("", {{.name = name, .args = std::move(args), .id = "c1"}}, "a");
  auto out = rt.load(g.compile()).invoke(value::map({{"messages", value::list({asked})}}));
  return out.value()["messages"][1];
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_server)

// ---- tools ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(tools_are_listed_as_they_were_declared) {
  runtime rt;
  mcp_server server{
    rt, {.tools = some_tools()}, {.name = "mine", .version = "7", .instructions = "Be kind."}};
  auto client = client_of(server);
  BOOST_TEST(to_json(client.server_info()) == R"({"name":"mine","version":"7"})");
  BOOST_TEST(client.instructions() == "Be kind.");
  BOOST_TEST(client.protocol_version() == "2025-11-25");
  auto tools = client.tools().value();
  BOOST_REQUIRE(tools.size() == some_tools().size());
  BOOST_TEST(tools[0].name() == "greet");
  BOOST_TEST(tools[0].description() == "Greets");
  BOOST_TEST(tools[0].parameters() == some_tools()[0].parameters());
  BOOST_TEST(bool(client.ping()));
}

BOOST_AUTO_TEST_CASE(what_tools_give_is_content_and_maps_are_structured) {
  runtime rt;
  mcp_server server{rt, {.tools = some_tools()}};
  auto client = client_of(server);
  BOOST_TEST(to_json(called(client, "greet", value::map({{"name", "Ada"}})))
             == R"({"content":[{"text":"Hello, Ada","type":"text"}],"isError":false})");
  BOOST_TEST(to_json(called(client, "sum", value::map({{"a", 1}, {"b", 2.0}})))
             == R"({"content":[{"text":"{\"sum\": 3}","type":"text"}],"isError":false,)"
                R"("structuredContent":{"sum":3}})");
  BOOST_TEST(to_json(called(client, "list"))
             == R"({"content":[{"text":"[1, 2]","type":"text"}],"isError":false})");
  BOOST_TEST(
    to_json(called(client, "draw")["content"])
    == R"([{"text":"here","type":"text"},)"
       R"({"data":"aGk=","mimeType":"image/png","type":"image"},)"
       R"({"name":"https://x.example/a.png","type":"resource_link","uri":"https://x.example/a.png"}])");
  BOOST_TEST(
    to_json(called(client, "mime")["content"][0])
    == R"({"resource":{"blob":"aGk=","mimeType":"text/csv","uri":"content:0"},"type":"resource"})");
}

BOOST_AUTO_TEST_CASE(an_agent_calls_them_like_its_own) {
  runtime rt;
  mcp_server server{rt, {.tools = some_tools()}};
  auto client = client_of(server);
  auto sum = message_of(client, "sum", value::map({{"a", 1}, {"b", 2}}));
  BOOST_TEST(message_text(sum) == "{\"sum\": 3}");
  BOOST_TEST(message_member(sum, "artifact")
             == value::map({{"structured_content", value::map({{"sum", 3}})}}));
  auto failed = message_of(client, "fail");
  BOOST_TEST(message_member(failed, "status") == value("error"));
  BOOST_TEST(message_text(failed).find("no luck") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_server_passes_on_what_another_one_structured) {
  runtime rt;
  mcp_server first{rt, {.tools = some_tools()}};
  mcp_server second{rt, {.tools = client_of(first).tools().value()}};
  auto result = called(client_of(second), "sum", value::map({{"a", 1}, {"b", 2}}));
  BOOST_TEST(result["structuredContent"] == value::map({{"sum", 3}}));
}

BOOST_AUTO_TEST_CASE(a_tool_that_fails_is_a_result_and_an_unknown_one_an_error) {
  runtime rt;
  mcp_server server{rt, {.tools = some_tools()}};
  auto client = client_of(server);
  BOOST_TEST(answer_of(client, "fail").starts_with("error Error: "));
  auto wrong = answer_of(client, "sum", value::map({{"a", "x"}}));
  BOOST_TEST(wrong.starts_with("error Error invoking tool 'sum'"), wrong);
  BOOST_TEST(answer_of(client, "ask")
             == "error The run waits for an answer to: \"sure?\"\nIt cannot be resumed: nothing of "
                "it is stored here.");
  auto unknown = client.call_and_wait("nobody", value::map());
  BOOST_REQUIRE(!unknown);
  BOOST_TEST(unknown.error().text() == "Unknown tool: nobody (-32602)");
}

BOOST_AUTO_TEST_CASE(a_result_that_breaks_its_schema_is_an_error) {
  runtime rt;
  auto schema = value::map({{"type", "object"}, {"required", value::list({value("x")})}});
  tool text{"text", "", [] { return tool_message("done", "call"); }, {.output = schema}};
  mcp_server server{rt, {.tools = {text}}};
  BOOST_TEST(answer_of(client_of(server), "text")
             == "error Error: structured content is missing, but the output schema requires it");
}

BOOST_AUTO_TEST_CASE(tools_have_the_runtime_s_store) {
  runtime rt{{.store = make_memory_store()}};
  tool put{"put", "", [](injected_store store) {
             store->put({"n"}, "k", value::map({{"x", 1}})).value();
             return "put";
           }};
  mcp_server server{rt, {.tools = {put}}};
  BOOST_TEST(answer_of(client_of(server), "put") == "put");
}

// ---- what is not offered --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_offer_that_makes_no_sense_is_refused_with_its_reason) {
  runtime rt{with_saver()};
  auto why = [&](mcp_offer offer, mcp_server_options options = {}) -> std::string {
    try {
      mcp_server server{rt, std::move(offer), std::move(options)};
      return "";
    } catch (const error& e) {
      return std::string{to_string(e.code())} + ' ' + e.message();
    }
  };
  auto greet = some_tools()[0];
  auto app = rt.load(counting_graph());
  BOOST_TEST(why({.tools = {greet, greet}})
             == "invalid_config make an MCP server: two tools have the same name: greet");
  BOOST_TEST(why({.tools = {greet}, .graphs = {{.app = app, .name = "greet"}}})
             == "invalid_config make an MCP server: two tools have the same name: greet");
  BOOST_TEST(why({.graphs = {{.app = app, .name = "a b"}}})
               .starts_with("invalid_config offer a graph: not a valid name"));
  BOOST_TEST(
    why({.graphs = {{.app = app, .name = std::string(129, 'a')}}}).starts_with("invalid_config "));
  BOOST_TEST(why({.graphs = {{.app = app, .name = std::string(128, 'a')}}}) == "");
  BOOST_TEST(why({.tools = {tool{value::map({{"type", "web_search"}})}}})
             == "invalid_config make an MCP server: a tool of a model's provider cannot be served");
  BOOST_TEST(why({}, {.calls_max = 0}).starts_with("invalid_config "));
  BOOST_TEST(why({}, {.call_timeout = milliseconds{0}}).starts_with("invalid_config "));
  state_graph<> g{{{"resume", last_value}}};
  g.add_node("n", [](const state_view&) { return value{}; });
  g.add_edge(START, "n");
  auto own = rt.load(g.compile({.name = "cv"}));
  BOOST_TEST(why({.graphs = {{.app = own}}}).find(": channel `resume`") != std::string::npos);
  BOOST_TEST(why({.graphs = {{.app = own, .threads = false}}}) == "");
  mcp_offer many;
  for (std::size_t i = 0; i < limits::mcp_tools_max; ++i)
    many.tools.emplace_back("t" + std::to_string(i), "", [] { return 1; });
  BOOST_TEST(why(many) == "");
  many.tools.emplace_back("one_more", "", [] { return 1; });
  BOOST_TEST(why(many)
             == "invalid_config make an MCP server: more than 2048 tools (mcp_tools_max)");
}

// ---- calls that take their time -------------------------------------------------------------

BOOST_AUTO_TEST_CASE(calls_run_side_by_side_hold_no_thread_and_are_answered_as_they_end) {
  constexpr std::size_t waiting = 200;
  runtime rt{{.worker_threads = 2, .blocking_threads = 1}};
  auto held = std::make_shared<held_calls>();
  auto tools = some_tools();
  tools.push_back(held_tool(held));
  mcp_server server{rt, {.tools = tools}};
  auto client = client_of(server);
  runtime callers{{.worker_threads = 2}};
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{client.tools().value()});
  g.add_edge(START, "tools");
  std::vector<tool_call> calls;
  for (std::size_t i = 0; i < waiting; ++i)
    calls.push_back({.name = "wait", .id = std::to_string(i)});
  auto app = callers.load(g.compile());
  const tool_call greets{.name = "greet", .args = value::map({{"name", "Ada"}}), .id = "g"};
  auto greeted = app.start(value::map({{"messages", value::list({ai_message("", {greets})})}}));
  BOOST_REQUIRE(greeted.get().has_value()); // both runtimes have their threads now
  auto before = test::os_threads().size();
  auto run = app.start(value::map({{"messages", value::list({ai_message("", calls, "a")})}}));
  held->at.wait_for(waiting);
  BOOST_TEST(test::os_threads().size() <= before + 2); // of the callers' blocking lane
  BOOST_TEST(answer_of(client, "greet", value::map({{"name", "Ada"}})) == "Hello, Ada");
  held->at.open();
  auto messages = run.get().value().value()["messages"];
  BOOST_REQUIRE(messages.size() == waiting + 1);
  for (const auto& m : messages.items().subspan(1))
    BOOST_TEST(message_text(m) == "waited");
}

BOOST_AUTO_TEST_CASE(a_client_that_is_told_too_much_at_a_time_is_refused) {
  runtime rt;
  auto held = std::make_shared<held_calls>();
  mcp_server server{rt, {.tools = {held_tool(held)}}, {.calls_max = 1}};
  auto client = client_of(server);
  auto other = client_of(server);
  auto first = std::async(std::launch::async, [&] { return answer_of(client, "wait"); });
  held->at.wait_for(1);
  auto refused = client.call_and_wait("wait", value::map());
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().text() == "Too many calls: 1 are running (-32000)");
  auto second = std::async(std::launch::async, [&] { return answer_of(other, "wait"); });
  held->at.wait_for(2); // it has calls of its own
  held->at.open();
  BOOST_TEST(first.get() == "waited");
  BOOST_TEST(second.get() == "waited");
}

BOOST_AUTO_TEST_CASE(a_call_whose_run_is_cancelled_is_given_up_at_the_server) {
  runtime rt;
  runtime callers;
  auto held = std::make_shared<held_calls>();
  mcp_server server{rt, {.tools = {held_tool(held)}}};
  auto client = client_of(server);
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{client.tools().value()});
  g.add_edge(START, "tools");
  run_control control;
  auto asked = ai_message("", {{.name = "wait", .id = "c"}}, "a");
  auto run = callers.load(g.compile())
               .start(value::map({{"messages", value::list({asked})}}), {.control = control});
  held->at.wait_for(1);
  control.cancel();
  held->wait_until_left();
  BOOST_TEST((run.get().error().code() == errc::cancelled));
  BOOST_TEST(bool(client.ping()));
}

BOOST_AUTO_TEST_CASE(a_client_that_goes_away_takes_its_calls_along) {
  runtime rt;
  auto held = std::make_shared<held_calls>();
  mcp_server server{rt, {.tools = {held_tool(held)}}};
  auto client = make_mcp_in_process(server.host(), {.name = "s"});
  constexpr milliseconds enough{30'000};
  client->ask("initialize", mcp_greeting(), enough, [](auto) {});
  auto ended = std::make_shared<std::promise<result<value>>>();
  client->ask("tools/call", value::map({{"name", "wait"}}), enough,
              [ended](result<value> r) { ended->set_value(std::move(r)); });
  held->at.wait_for(1);
  client.reset();
  BOOST_TEST(ended->get_future().get().error().text() == "s: the connection was closed");
  held->wait_until_left();
}

BOOST_AUTO_TEST_CASE(a_call_that_takes_too_long_for_its_client_is_a_time_out_and_given_up) {
  runtime rt;
  auto held = std::make_shared<held_calls>();
  mcp_server server{rt, {.tools = {held_tool(held)}}};
  auto client = client_of(server, {.name = "s", .call_timeout = milliseconds{20}});
  auto late = client.call_and_wait("wait", value::map());
  BOOST_REQUIRE(!late);
  BOOST_TEST((late.error().code() == errc::node_timeout));
  BOOST_TEST(late.error().text() == "ask an MCP server: s: no answer within 20 ms");
  held->wait_until_left();
  BOOST_TEST(bool(client.ping()));
}

BOOST_AUTO_TEST_CASE(a_call_that_takes_too_long_for_the_server_is_a_result) {
  runtime rt;
  auto held = std::make_shared<held_calls>();
  mcp_server server{rt, {.tools = {held_tool(held)}}, {.call_timeout = milliseconds{20}}};
  auto text = answer_of(client_of(server), "wait");
  BOOST_TEST(text.starts_with("error Error: "));
  BOOST_TEST(text.find("Timed out after 20 ms") != std::string::npos);
  held->wait_until_left();
}

BOOST_AUTO_TEST_CASE(two_calls_on_one_thread_take_turns) {
  runtime rt{with_saver()};
  auto held = std::make_shared<held_calls>();
  state_graph<topic_state> g;
  g.add_node("count", [held](const topic_state&, context& ctx) -> coro<update<topic_state>> {
    auto passed = ctx.completion<>();
    held->at.enter([done = passed.completer()] { done.set(); });
    co_await passed;
    co_return set(&topic_state::count, 1);
  });
  g.add_edge(START, "count");
  mcp_server server{rt, {.graphs = {{.app = rt.load(g.compile({.name = "count"}))}}}};
  auto client = client_of(server);
  auto count = [&] {
    return called(client, "count", value::map({{"thread_id", "t"}}))["structuredContent"]["count"];
  };
  auto one = std::async(std::launch::async, count);
  auto two = std::async(std::launch::async, count);
  held->at.wait_for(1);
  held->at.open();
  std::vector<std::int64_t> counts{one.get().as_int(), two.get().as_int()};
  std::ranges::sort(counts);
  BOOST_TEST(counts == (std::vector<std::int64_t>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
