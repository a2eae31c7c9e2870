// Questions of agents that a service drives.
#include "tests/agents/sessions/host_agents.hpp"
#include "tests/fixtures/savers.hpp"

#include <troupe/agents/middleware.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe {

BOOST_AUTO_TEST_SUITE(agents_questions)

BOOST_AUTO_TEST_CASE(a_question_is_answered_after_a_restart) {
  auto asks = [](invocation& in) -> coro<void> {
    in.say("hello");
    auto answer = in.ask("which?");
    in.say("so " + answer.as<std::string>());
    co_return;
  };
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("ask", [](context& ctx) {
    auto answer = ctx.interrupt("which?").as<std::string>();
    return value{{"messages", value::list({ai_message("so " + answer)})}};
  });
  g.add_edge(START, "ask");
  auto graph = g.compile({.name = "graph_clerk"});
  for (const auto& agent : {by_hand(asks), make_session_agent(graph)}) {
    test::temporary_directory dir;
    host_events before;
    {
      runtime rt{{.data_dir = dir.path()}};
      agent_runner runner{rt, agent};
      before = read_all(runner.run(ada, "hi")).events;
      BOOST_TEST(lines_of_events({before.back()})
                 == "question " + agent->name() + ": \"which?\"\n");
    }
    runtime rt{{.data_dir = dir.path()}};
    agent_runner runner{rt, agent};
    BOOST_REQUIRE(runner.session(ada)->questions.size() == 1u);
    BOOST_TEST(runner.unfinished().empty()); // it waits
    BOOST_TEST(last_line(runner.resume(ada)) == "question " + agent->name() + ": \"which?\"\n");
    auto after = read_all(runner.answer(ada, "that")).events;
    BOOST_TEST(lines_of_events({after.back()}) == "finished " + agent->name() + ": so that\n");
    BOOST_TEST(after.back().invocation_id == before.back().invocation_id);
    BOOST_TEST(after.back().id != before.back().id);
    if (before.size() > 1) // told again, and the same message
      BOOST_TEST(message_member(after[0].data, "id") == message_member(before[0].data, "id"));
    BOOST_TEST(runner.session(ada)->questions.empty());
    BOOST_TEST(
      (read_all(runner.answer(ada, "again")).failure.value().code() == errc::unknown_interrupt));
  }
}

BOOST_AUTO_TEST_CASE(several_questions_are_answered_by_their_ids) {
  state_graph<> g{{{"messages", add_messages}, {"got", append}}};
  for (const char* name : {"a", "b"}) {
    g.add_node(name, [name](context& ctx) {
      return value{{"got", value::list({ctx.interrupt(name)})}};
    });
    g.add_edge(START, name);
  }
  runtime rt{in_memory()};
  agent_runner runner{rt, make_session_agent(g.compile({.name = "g"}))};
  auto asked = read_all(runner.run(ada, "hi")).events;
  BOOST_TEST(lines_of_events(asked) == "question g: \"a\"\nquestion g: \"b\"\n");
  BOOST_TEST(
    (read_all(runner.answer(ada, "both")).failure.value().code() == errc::ambiguous_resume));
  auto answers = value::map();
  for (const auto& e : asked)
    answers = answers.with(e.data["id"].as<std::string>(), e.data["value"]);
  BOOST_TEST((read_all(runner.answer(ada, answers)).events.back().kind == event_kind::finished));
  BOOST_TEST(runner.session(ada)->state["got"] == value::list({"a", "b"}));
}

BOOST_AUTO_TEST_CASE(calls_that_wait_for_review_are_decided_by_an_answer) {
  auto model = std::make_shared<scripted_model>(host_script{host_call({1, 5}), "done"});
  runtime rt{in_memory()};
  agent_runner runner{
    rt, make_session_agent(create_agent({.model = model,
                                         .tools = {host_adder()},
                                         .middleware = {human_in_the_loop({{"add", {}}})},
                                         .name = "careful"}))};
  auto asked = read_all(runner.run(ada, "hi")).events.back();
  BOOST_REQUIRE((asked.kind == event_kind::question));
  BOOST_TEST(asked.data["value"]["action_requests"].size() == 2u);
  auto yes = value{{"type", "approve"}}, no = value{{"type", "reject"}, {"message", "no"}};
  auto text =
    lines_of_events(runner.answer(ada, value::map({{"decisions", value::list({yes, no})}})));
  BOOST_TEST(text.find("tool_result careful: 2\n") != text.npos);
  BOOST_TEST(
    text.find("tool_result careful: User rejected the tool call for `add` with reason: no\n")
    != text.npos);
  BOOST_TEST(text.ends_with("finished careful: done\n"));
}

BOOST_AUTO_TEST_CASE(a_breakpoint_pauses_and_resume_goes_on) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("say", [] { return value{{"messages", value::list({ai_message("said")})}}; });
  g.add_edge(START, "say");
  runtime rt{in_memory()};
  agent_runner runner{rt,
                      make_session_agent(g.compile({.name = "g", .interrupt_before = {"say"}}))};
  BOOST_TEST(lines_of_events(runner.run(ada, "hi")) == "paused g: [\"say\"]\n");
  BOOST_TEST(last_line(runner.resume(ada)) == "finished g: said\n");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
