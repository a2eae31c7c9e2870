// A server of MCP and its clients in the same process: tools, graphs, questions, cancellation.
#include "agents/mcp/mcp_transport.hpp"
#include "tests/agents/mcp/held_tool.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/mcp_server.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/completion.hpp>
#include <troupe/functional.hpp>
#include <troupe/limits.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;
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

struct topic_state {
  std::string topic;
  std::int64_t count = 0;
  TROUPE_STATE(topic_state, topic, (count, sum))
};

compiled_graph counting_graph() {
  state_graph<topic_state> g;
  g.add_node("count", [](const topic_state&) { return set(&topic_state::count, 1); });
  g.add_edge(START, "count");
  return g.compile({.name = "counting"});
}

compiled_graph asking_graph() {
  state_graph<topic_state> g;
  g.add_node("ask", [](const topic_state& s, context& ctx) {
    auto answer = ctx.interrupt(value::map({{"about", s.topic}}));
    return set(&topic_state::topic, s.topic + ": " + answer.as<std::string>());
  });
  g.add_edge(START, "ask");
  return g.compile({.name = "asking"});
}

compiled_graph chatting_graph() {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("answer", [](const state_view&) -> value {
    return {{"messages", value::list({ai_message("hi", {}, "a1")})}};
  });
  g.add_edge(START, "answer");
  return g.compile({.name = "chatting"});
}

mcp_client client_of(const mcp_server& server, mcp_options options = {}) {
  return mcp_client::connect(server, std::move(options)).value();
}

value called(const mcp_client& client, const char* name, value arguments = value::map()) {
  return client.call_and_wait(name, std::move(arguments)).value();
}

// "isError text"
std::string answer_of(const mcp_client& client, const char* name, value arguments = value::map()) {
  auto result = called(client, name, std::move(arguments));
  return (result["isError"] == value(true) ? "error " : "")
         + result["content"][0]["text"].as<std::string>();
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

std::size_t threads_in(runtime& rt) {
  return rt.saver()->threads().value().size();
}

runtime_options with_saver() {
  return {.saver = make_memory_saver()};
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

// ---- graphs ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_graph_is_a_tool_with_its_schemas_and_its_output_is_the_result) {
  runtime rt;
  mcp_server server{rt, {.graphs = {{.app = rt.load(counting_graph()), .description = "Counts"}}}};
  auto client = client_of(server);
  auto tools = client.tools().value();
  BOOST_REQUIRE(tools.size() == 1u);
  BOOST_TEST(tools[0].name() == "counting");
  BOOST_TEST(tools[0].description() == "Counts");
  BOOST_TEST(tools[0].parameters() == counting_graph().input_jsonschema());
  BOOST_TEST(
    to_json(called(client, "counting", value::map({{"topic", "x"}, {"count", 2}})))
    == R"({"content":[{"text":"{\"count\": 3, \"topic\": \"x\"}","type":"text"}],"isError":false,)"
       R"("structuredContent":{"count":3,"topic":"x"}})");
  BOOST_TEST(answer_of(client, "counting", value::map({{"tpoic", "x"}}))
             == "error Error: invalid arguments: tpoic: unknown argument");
  BOOST_TEST(answer_of(client, "counting", value::map({{"count", "x"}}))
             == "error Error: invalid arguments: count: Input should be a valid integer");
  BOOST_TEST(answer_of(client, "counting", value::map({{"thread_id", "x"}}))
             == "error Error: invalid arguments: thread_id: unknown argument");
}

BOOST_AUTO_TEST_CASE(messages_of_a_graph_are_maps_with_a_role) {
  runtime rt;
  mcp_server server{rt, {.graphs = {{.app = rt.load(chatting_graph()), .name = "chat.v1"}}}};
  auto said = value::map({{"role", "user"}, {"content", "hello"}, {"id", "u1"}});
  auto result = called(client_of(server), "chat.v1",
                       value::map({{"messages", value::list({said})}}));
  BOOST_TEST(to_json(result["structuredContent"])
             == R"({"messages":[{"content":"hello","id":"u1","role":"user"},)"
                R"({"content":"hi","id":"a1","role":"assistant"}]})");
}

BOOST_AUTO_TEST_CASE(a_graph_of_one_bare_value_has_one_argument) {
  runtime rt;
  auto twice = entrypoint("twice", [](std::int64_t n) { return 2 * n; });
  mcp_server server{rt, {.graphs = {{.app = rt.load(twice)}}}};
  auto client = client_of(server);
  BOOST_TEST(to_json(client.tools().value()[0].parameters()["required"]) == R"(["input"])");
  BOOST_TEST(answer_of(client, "twice", value::map({{"input", 21}})) == "42");
}

BOOST_AUTO_TEST_CASE(a_graph_that_fails_is_a_result) {
  runtime rt;
  state_graph<topic_state> g;
  g.add_node("fail", [](const topic_state&) -> update<topic_state> {
    throw node_error{"OutError", "out of order"};
  });
  g.add_edge(START, "fail");
  mcp_server server{rt, {.graphs = {{.app = rt.load(g.compile())}}}};
  BOOST_TEST(answer_of(client_of(server), "graph") == "error Error: out of order");
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_named_is_kept_and_any_other_is_forgotten) {
  runtime rt{with_saver()};
  mcp_server server{rt, {.graphs = {{.app = rt.load(counting_graph())}}}};
  auto client = client_of(server);
  BOOST_TEST(client.tools().value()[0].parameters()["properties"].contains("thread_id"));
  for (int i = 1; i <= 2; ++i)
    BOOST_TEST(
      called(client, "counting", value::map({{"thread_id", "t"}}))["structuredContent"]["count"]
      == value(i));
  BOOST_TEST(called(client, "counting")["structuredContent"]["count"] == value(1));
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (threads_in(rt) > 1 && std::chrono::steady_clock::now() < until) // its end is on its way
    std::this_thread::yield();
  BOOST_TEST(threads_in(rt) == 1u);
  auto long_id = std::string(limits::thread_id_bytes_max + 1, 'x');
  BOOST_TEST(
    answer_of(client, "counting", value::map({{"thread_id", long_id}})).starts_with("error "));
}

BOOST_AUTO_TEST_CASE(a_question_says_how_to_go_on_and_an_answer_does) {
  runtime rt{with_saver()};
  mcp_server server{rt, {.graphs = {{.app = rt.load(asking_graph())}}}};
  auto client = client_of(server);
  BOOST_TEST(
    answer_of(client, "asking", value::map({{"topic", "cake"}, {"thread_id", "t"}}))
    == "error The run waits for an answer to: {\"about\": \"cake\"}\nTo resume it, call `asking` "
       "with {\"thread_id\": \"t\", \"resume\": ANSWER}.");
  auto resumed = called(client, "asking", value::map({{"thread_id", "t"}, {"resume", "yes"}}));
  BOOST_TEST(resumed["structuredContent"]["topic"] == value("cake: yes"));
}

BOOST_AUTO_TEST_CASE(a_thread_that_nobody_named_waits_for_its_answer_too) {
  runtime rt{with_saver()};
  mcp_server server{rt, {.graphs = {{.app = rt.load(asking_graph())}}}};
  auto client = client_of(server);
  auto text = answer_of(client, "asking", value::map({{"topic", "tea"}}));
  auto begin = text.find("\"thread_id\": \"") + 14;
  auto thread = text.substr(begin, text.find('"', begin) - begin);
  auto resumed = called(client, "asking", value::map({{"thread_id", thread}, {"resume", "no"}}));
  BOOST_TEST(resumed["structuredContent"]["topic"] == value("tea: no"));
}

BOOST_AUTO_TEST_CASE(a_thread_that_waits_for_nothing_is_not_resumed) {
  runtime rt{with_saver()};
  mcp_server server{rt, {.graphs = {{.app = rt.load(asking_graph())}}}};
  auto client = client_of(server);
  auto thread = value::map({{"thread_id", "t"}});
  for (const auto& resume : {value{}, value("yes")})
    BOOST_TEST(answer_of(client, "asking", thread.with("resume", resume))
               == "error Error: resume: nothing is stored of thread_id `t`: call it without "
                  "`resume` to start it");
  BOOST_TEST(
    answer_of(client, "asking", thread.with("topic", "cake")).starts_with("error The run waits"));
  BOOST_TEST(
    answer_of(client, "asking", thread.with("resume", value{})).starts_with("error The run waits"));
  BOOST_TEST(answer_of(client, "asking", thread.with("resume", "yes"))
             == R"({"count": 0, "topic": "cake: yes"})");
  for (const auto& resume : {value{}, value("no")})
    BOOST_TEST(answer_of(client, "asking", thread.with("resume", resume))
               == "error Error: resume: thread_id `t` waits for nothing: its last call is "
                  "finished, or its question was answered by another call");
  BOOST_TEST(rt.saver()->threads().value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(of_two_answers_at_once_the_first_one_counts) {
  std::promise<void> answered, go_on;
  auto may_go_on = go_on.get_future().share();
  state_graph<> g{{{"name", last_value}}};
  g.add_node("ask",
             [&](context& ctx) -> value {
               auto name = ctx.interrupt("name?");
               answered.set_value();
               may_go_on.wait();
               return {{"name", name}};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "ask");
  runtime rt{with_saver()};
  mcp_server server{rt, {.graphs = {{.app = rt.load(g.compile())}}}};
  auto client = client_of(server);
  auto thread = value::map({{"thread_id", "t"}});
  answer_of(client, "graph", thread);
  auto first = std::async(std::launch::async, [&] {
    return answer_of(client_of(server), "graph", thread.with("resume", "Ada"));
  });
  answered.get_future().wait();
  BOOST_TEST(answer_of(client, "graph", thread.with("resume", "Eve"))
             == "error Error: another call uses thread_id `t`, so this call was stopped: repeat it "
                "when the other call has ended");
  go_on.set_value();
  BOOST_TEST(first.get() == R"({"name": "Ada"})");
}

BOOST_AUTO_TEST_CASE(several_questions_are_answered_by_id_and_a_breakpoint_by_null) {
  runtime rt{with_saver()};
  state_graph<> g{{{"log", append}}};
  for (const char* name : {"a", "b"}) {
    g.add_node(name, [](context& ctx) -> value {
      return {{"log", value::list({ctx.interrupt(ctx.node())})}};
    });
    g.add_edge(START, name);
  }
  g.add_node("end", [](const state_view&) -> value { return {{"log", value::list({"end"})}}; });
  g.add_edge({"a", "b"}, "end");
  mcp_server server{rt, {.graphs = {{.app = rt.load(g.compile({.interrupt_before = {"end"}}))}}}};
  auto client = client_of(server);
  auto thread = value::map({{"thread_id", "t"}});
  auto text = answer_of(client, "graph", thread);
  auto answers = value::map();
  for (const char* name : {"a", "b"}) {
    auto at = text.find(": \"" + std::string{name} + '"');
    BOOST_REQUIRE(at != std::string::npos);
    answers = answers.with(text.substr(at - 32, 32), name);
  }
  auto gone = std::string(32, '0');
  BOOST_TEST(answer_of(client, "graph", thread.with("resume", answers.with(gone, "c")))
             == "error Error: resume: thread_id `t`: Unknown or already-consumed interrupt: " + gone
                  + ": its question was answered by another call, or this id is wrong");
  BOOST_TEST(
    answer_of(client, "graph", thread.with("resume", answers))
    == "error The run has stopped before `end`.\nTo resume it, call `graph` with {\"thread_id\": "
       "\"t\", \"resume\": null}.");
  BOOST_TEST(answer_of(client, "graph", thread.with("resume", value{}))
             == R"({"log": ["a", "b", "end"]})");
}

BOOST_AUTO_TEST_CASE(an_answer_needs_its_thread_and_stands_alone) {
  runtime rt{with_saver()};
  mcp_server server{rt, {.graphs = {{.app = rt.load(asking_graph())}}}};
  auto client = client_of(server);
  BOOST_TEST(answer_of(client, "asking", value::map({{"resume", 1}}))
             == "error Error: invalid arguments: resume: needs the thread_id of the conversation");
  BOOST_TEST(
    answer_of(client, "asking", value::map({{"resume", 1}, {"thread_id", "t"}, {"topic", "x"}}))
    == "error Error: invalid arguments: resume: must have no other argument than thread_id");
  BOOST_TEST(answer_of(client, "asking", value::map({{"thread_id", 1}}))
             == "error Error: invalid arguments: thread_id: must be non-empty text");
}

BOOST_AUTO_TEST_CASE(a_question_where_nothing_is_kept_says_so) {
  runtime rt;
  mcp_server server{rt, {.graphs = {{.app = rt.load(asking_graph())}}}};
  BOOST_TEST(answer_of(client_of(server), "asking", value::map({{"topic", "x"}}))
               .ends_with("It cannot be resumed: nothing of it is stored here."));
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
  auto threads = [] {
    auto tasks = std::filesystem::directory_iterator{"/proc/self/task"};
    return std::distance(begin(tasks), end(tasks));
  };
  runtime callers{{.worker_threads = 2}};
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{client.tools().value()});
  g.add_edge(START, "tools");
  std::vector<tool_call> calls;
  for (std::size_t i = 0; i < waiting; ++i)
    calls.push_back({.name = "wait", .id = std::to_string(i)});
  auto app = callers.load(g.compile());
  BOOST_TEST(answer_of(client, "greet", value::map({{"name", "Ada"}})) == "Hello, Ada");
  auto before = threads();
  auto run = app.start(value::map({{"messages", value::list({ai_message("", calls, "a")})}}));
  held->at.wait_for(waiting);
  BOOST_TEST(threads() <= before + 2); // of the callers' blocking lane
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
