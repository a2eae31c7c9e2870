// Graphs as tools of an MCP server: schemas, threads, questions and their answers.
#include "tests/agents/mcp/served_graphs.hpp"

#include <troupe/functional.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <string>
#include <thread>

namespace troupe::test {
namespace {

compiled_graph chatting_graph() {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("answer", [](const state_view&) -> value {
    return {{"messages", value::list({ai_message("hi", {}, "a1")})}};
  });
  g.add_edge(START, "answer");
  return g.compile({.name = "chatting"});
}

std::size_t threads_in(runtime& rt) {
  return rt.saver()->threads().value().size();
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_graphs)

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

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
