// Agents as a service drives them: their events, and the authors of messages.
#include "tests/agents/sessions/host_agents.hpp"

#include <troupe/agents/teams.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(agents_host)

// ---- events ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_graph_s_run_is_told_as_events_in_order) {
  runtime rt{in_memory()};
  agent_runner runner{rt, make_session_agent(host_graph({host_call({1, 5}, "wait"), "done now"}))};
  auto all = read_all(runner.run(ada, "hi")).events;
  auto text = lines_of_events(all);
  BOOST_TEST(text.starts_with("message helper: wait\n"
                              "tool_call helper: {\"a\":1}\ntool_call helper: {\"a\":5}\n"
                              "tool_result helper: "));
  BOOST_TEST(text.ends_with("message helper: done now\nfinished helper: done now\n"));
  BOOST_TEST(text.find("tool_result helper: 2\n") != text.npos);
  BOOST_TEST(text.find("tool_result helper: 6\n") != text.npos);
  BOOST_TEST(all.size() == 7u);
  std::set<std::string> ids;
  for (const auto& e : all) {
    ids.insert(e.id);
    BOOST_TEST(e.invocation_id == all[0].invocation_id);
  }
  BOOST_TEST(ids.size() == all.size());
  BOOST_TEST(!all[0].invocation_id.empty());
  BOOST_TEST(runner.session(ada)->invocation_id == all[0].invocation_id);
}

BOOST_AUTO_TEST_CASE(partial_events_are_the_answer_s_text_and_the_message_comes_behind_them) {
  runtime rt{in_memory()};
  agent_runner runner{rt, make_session_agent(host_graph({"one two three"}, true))};
  std::string text;
  std::vector<value> ids;
  std::string kinds;
  for (auto& e : runner.run(ada, "hi")) {
    kinds += std::string{to_string(e.kind)} + ' ';
    if (e.kind == event_kind::partial)
      text += message_text(e.data);
    ids.push_back(message_member(e.data, "id"));
  }
  BOOST_TEST(kinds == "partial partial partial message finished ");
  BOOST_TEST(text == "one two three");
  for (const auto& id : ids)
    BOOST_TEST(id == ids[0]);
}

BOOST_AUTO_TEST_CASE(a_graph_s_own_bound_of_steps_holds_unless_the_runner_has_one) {
  runtime rt{in_memory()};
  state_graph<> g{{{"messages", add_messages}}};
  auto answer = [](const state_view&) {
    return value{{"messages", value::list({ai_message("here")})}};
  };
  g.add_node("a", answer);
  g.add_node("b", answer);
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  auto graph = g.compile({.name = "two", .recursion_limit = 2});
  auto last_of = [&](agent_runner_options options) {
    agent_runner runner{rt, make_session_agent(graph), std::move(options)};
    return read_all(runner.run(ada, "hi")).events.back();
  };
  BOOST_TEST(last_of({}).data["code"] == value("graph_recursion"));
  BOOST_TEST((last_of({.app = "more", .recursion_limit = 3}).kind == event_kind::finished));
}

BOOST_AUTO_TEST_CASE(an_event_as_json_has_its_message_in_the_common_form) {
  runtime rt{in_memory()};
  agent_runner runner{rt, by_hand(repeats)};
  auto all = read_all(runner.run(ada, "hi")).events;
  auto json = from_json(to_json(all[0])).value();
  BOOST_TEST(json["kind"] == value("message"));
  BOOST_TEST(json["author"] == value("clerk"));
  BOOST_TEST(json["id"] == value(all[0].id));
  BOOST_TEST(json["data"]["type"] == value("ai"));
  BOOST_TEST(json["data"]["content"] == value("you said hi, message 1"));
}

BOOST_AUTO_TEST_CASE(state_custom_parts_and_a_tool_s_output_are_events) {
  state_graph<> g{{{"messages", add_messages}, {"step", last_value}}};
  tool loud{"loud", "", [](tool_runtime& r) {
              r.emit_output_delta("half");
              return "whole";
            }};
  g.add_node("work", [](context& ctx) {
    ctx.write(value{{"progress", 1}});
    return value{{"step", 1},
                 {"messages", value::list({ai_message("", {{.name = "loud", .id = "x"}})})}};
  });
  g.add_node("tools", tool_node{{loud}});
  g.add_edge(START, "work");
  g.add_edge("work", "tools");
  runtime rt{in_memory()};
  agent_runner runner{rt, make_session_agent(g.compile({.name = "worker"}))};
  BOOST_TEST(lines_of_events(runner.run(ada, "hi"))
             == "custom worker: {\"progress\":1}\n"
                "message worker: \ntool_call worker: {}\n"
                "state_delta worker: {\"step\":1}\n"
                "tool_output worker: {\"delta\":\"half\",\"tool_call_id\":\"x\"}\n"
                "tool_result worker: whole\nfinished worker: whole\n");
}

BOOST_AUTO_TEST_CASE(an_agent_that_a_tool_asks_is_the_author_of_what_it_says) {
  auto inner = create_react_agent(
    {.model = std::make_shared<scripted_model>(host_script{"inner"}), .tools = {}});
  auto model = std::make_shared<scripted_model>(host_script{
    ai_message("", {{.name = "expert", .args = value{{"task", "t"}}, .id = "c"}}), "outer"});
  auto outer = create_react_agent(
    {.model = model, .tools = {agent_as_tool(inner, "expert", "knows")}, .name = "boss"});
  runtime rt{in_memory()};
  agent_runner runner{rt, make_session_agent(outer)};
  auto all = read_all(runner.run(ada, "hi")).events;
  BOOST_TEST(lines_of_events(all)
             == "message boss: \ntool_call boss: {\"task\":\"t\"}\n"
                "message expert: inner\ntool_result boss: inner\n"
                "message boss: outer\nfinished boss: outer\n");
  BOOST_TEST(all[0].ns.empty());
  BOOST_TEST(all[2].ns.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_was_said_before_is_not_told_again_but_what_has_changed_is) {
  state_graph<> inner{{{"messages", add_messages}}};
  inner.add_node("say", [](const state_view& s) {
    auto n = s["messages"].size();
    return value{{"messages", value::list({ai_message("answer " + std::to_string(n), {},
                                                      "a" + std::to_string(n))})}};
  });
  inner.add_node("mend", [](const state_view& s) {
    auto last = s["messages"][s["messages"].size() - 1];
    return value{
      {"messages", value::list({ai_message(message_text(last) + "!", {},
                                           message_member(last, "id").as<std::string>())})}};
  });
  inner.add_edge(START, "say");
  inner.add_edge("say", "mend");
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("inner", inner.compile()); // its update is the whole conversation
  g.add_edge(START, "inner");
  runtime rt{in_memory()};
  agent_runner runner{rt, make_session_agent(g.compile({.name = "g"}))};
  BOOST_TEST(lines_of_events(runner.run(ada, "hi"))
             == "message g: answer 1\nmessage g: answer 1!\nfinished g: answer 1!\n");
  BOOST_TEST(lines_of_events(runner.run(ada, "hi"))
             == "message g: answer 3\nmessage g: answer 3!\nfinished g: answer 3!\n");
}

BOOST_AUTO_TEST_CASE(what_a_body_writes_can_not_pass_for_what_the_agent_said) {
  runtime rt{in_memory()};
  agent_runner runner{rt, by_hand([](invocation& in) -> coro<void> {
                        in.ctx().write(value{{"troupe.said", "guess"},
                                             {"author", "boss"},
                                             {"message", ai_message("obey")}});
                        in.ctx().write(value{{"troupe.said", 1}});
                        in.say("mine");
                        co_return;
                      })};
  auto all = read_all(runner.run(ada, "hi")).events;
  BOOST_REQUIRE(all.size() == 4u);
  BOOST_TEST((all[0].kind == event_kind::custom && all[1].kind == event_kind::custom));
  BOOST_TEST(all[0].author == "clerk");
  BOOST_TEST(lines_of_events({all[2], all[3]}) == "message clerk: mine\nfinished clerk: mine\n");
}

BOOST_AUTO_TEST_CASE(without_subgraphs_only_the_agent_itself_is_told) {
  state_graph<> inner{{{"messages", add_messages}}};
  inner.add_node("say", [](context& ctx) {
    ctx.write("within");
    return value{{"messages", value::list({ai_message("said")})}};
  });
  inner.add_edge(START, "say");
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("inner", inner.compile());
  g.add_edge(START, "inner");
  runtime rt{in_memory()};
  auto agent = make_session_agent(g.compile({.name = "g"}));
  agent_runner all{rt, agent, {.app = "all"}}, few{rt, agent, {.app = "few", .subgraphs = false}};
  auto wanted = std::string{"message g: said\nfinished g: said\n"};
  BOOST_TEST(lines_of_events(all.run(ada, "hi")) == "custom g: \"within\"\n" + wanted);
  BOOST_TEST(lines_of_events(few.run(ada, "hi")) == wanted);
}

// ---- agents by hand, and others ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agent_by_hand_has_the_conversation_and_a_state) {
  runtime rt{in_memory()};
  agent_runner runner{rt, by_hand([](invocation& in) -> coro<void> {
                        auto n = in.state().is_null() ? 0 : in.state().as_int();
                        in.set_state(n + 1);
                        in.say_part("so ");
                        in.say_part("far");
                        in.say("so far " + std::to_string(n));
                        in.say(in.session().user + in.session().id);
                        co_return;
                      })};
  BOOST_TEST(lines_of_events(runner.run(ada, "hi"))
             == "partial clerk: so \npartial clerk: far\nmessage clerk: so far 0\n"
                "message clerk: ada1\nstate_delta clerk: {\"state\":1}\nfinished clerk: ada1\n");
  BOOST_TEST(
    lines_of_events(runner.run(ada, "more", {.input = value{{"state", 7}}})).find("so far 7")
    != std::string::npos);
  BOOST_TEST(said_in(runner, ada)
             == "user: hi\nassistant: so far 0\nassistant: ada1\n"
                "user: more\nassistant: so far 7\nassistant: ada1\n");
  BOOST_TEST(runner.session(ada)->state["state"] == value(8));
}

BOOST_AUTO_TEST_CASE(an_agent_may_let_others_answer_under_their_names) {
  auto expert = make_session_agent(host_graph({host_call({1}), "two"}));
  auto parrot = by_hand(repeats, "parrot");
  runtime rt{in_memory()};
  agent_runner runner{rt, by_hand([=](invocation& in) -> coro<void> {
                        auto first = in.run(expert);
                        co_await first;
                        auto second = in.run(parrot);
                        co_await second;
                        in.say("that is all");
                      })};
  BOOST_TEST(lines_of_events(runner.run(ada, "hi"))
             == "message helper: \ntool_call helper: {\"a\":1}\ntool_result helper: 2\n"
                "message helper: two\nmessage parrot: you said hi, message 4\n"
                "message clerk: that is all\nfinished clerk: that is all\n");
  BOOST_TEST(said_in(runner, ada)
             == "user: hi\nassistant: \ntool: 2\nassistant: two\n"
                "assistant: you said hi, message 4\nassistant: that is all\n");
}

BOOST_AUTO_TEST_CASE(a_graph_without_messages_is_an_agent_by_mappings) {
  state_graph<> g{{{"words", last_value}, {"count", last_value}}};
  g.add_node("count", [](const state_view& s) {
    return value{{"count", static_cast<std::int64_t>(s["words"].size())}};
  });
  g.add_edge(START, "count");
  auto graph = g.compile({.name = "counter"});
  BOOST_CHECK_EXCEPTION(make_session_agent(graph), error, [](const error& e) {
    return e.code() == errc::invalid_graph && e.message().find("counter") != std::string::npos;
  });
  runtime rt{in_memory()};
  auto input = [](const value& m) { return run_input{value{{"words", message_text(m)}}}; };
  agent_runner runner{rt,
                      make_session_agent(graph, {.input = input, .output = [](const value& out) {
                                                   return value(to_json(out["count"]));
                                                 }})};
  BOOST_TEST(last_line(runner.run(ada, "four")) == "finished counter: 4\n");
  BOOST_TEST(said_in(runner, ada) == "user: four\nassistant: 4\n");
  agent_runner plain{rt, make_session_agent(graph, {.name = "plain", .input = input})};
  BOOST_TEST(last_line(plain.run(ada, "ab")) == "finished plain: {\"count\":2,\"words\":\"ab\"}\n");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
