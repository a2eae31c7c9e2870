// Agents that work together.
#include "tests/fixtures/loopback_workers.hpp"

#include <troupe/agents/agent.hpp>
#include <troupe/agents/teams.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

using team_script = std::vector<scripted_model::answer>;

std::shared_ptr<scripted_model> speaks(team_script answers) {
  return std::make_shared<scripted_model>(std::move(answers));
}

value asks_for(std::vector<tool_call> calls, std::string text = "") {
  return ai_message(std::move(text), calls);
}
tool_call hand_to(const std::string& agent, std::string id = "h") {
  return {.name = "transfer_to_" + agent, .id = std::move(id)};
}

tool team_adder() {
  return {"add",
          "Adds",
          [](arg<"a", std::int64_t> a, arg<"b", std::int64_t> b) { return *a + *b; },
          {.lane = lane::standard}};
}
tool_call add_1_2(std::string id = "sum") {
  return {.name = "add", .args = value{{"a", 1}, {"b", 2}}, .id = std::move(id)};
}

compiled_graph member_of(std::string name, team_script answers, std::vector<tool> tools = {}) {
  return create_react_agent(
    {.model = speaks(std::move(answers)), .tools = std::move(tools), .name = std::move(name)});
}

value team_question() {
  return value{{"messages", value::list({human_message("q")})}};
}

value outcome_of(const compiled_graph& graph, const run_config& config = {}) {
  runtime rt;
  return rt.load(graph).invoke(team_question(), config).value();
}

// "role name: text [calls]" of each message.
std::string told(const value& messages) {
  std::string out;
  for (const auto& m : messages.items()) {
    out += std::string{message_role(m)};
    if (const auto& name = message_member(m, "name"); name.is_string())
      out += " " + name.as<std::string>();
    out += ": " + message_text(m);
    for (const auto& call : message_tool_calls(m).items())
      out += " [" + call["name"].as<std::string>() + "]";
    out += "\n";
  }
  return out;
}

// No call without an answer, no answer without a call.
bool is_whole(const value& messages) {
  std::vector<value> open;
  for (const auto& m : messages.items()) {
    if (message_role(m) == "tool")
      if (std::erase(open, message_member(m, "tool_call_id")) != 1)
        return false;
    for (const auto& call : message_tool_calls(m).items())
      open.push_back(call["id"]);
  }
  return open.empty();
}

std::string refusal_of(const std::function<void()>& make) {
  try {
    make();
  } catch (const error& e) {
    return e.message();
  }
  return {};
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_teams)

// ---- supervisor -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_supervisor_hands_over_and_is_told_the_last_message) {
  auto boss = speaks({asks_for({hand_to("math_expert")}, "ok"), "final"});
  auto team = create_supervisor(
    {.agents = {member_of("math expert", {asks_for({add_1_2()}), "it is 3"}, {team_adder()})},
     .model = boss,
     .prompt = "Lead."});
  auto out = outcome_of(team.compile());
  BOOST_TEST(told(out["messages"])
             == "user: q\n"
                "assistant supervisor: ok [transfer_to_math_expert]\n"
                "tool transfer_to_math_expert: Successfully transferred to math expert\n"
                "assistant math expert: it is 3\n"
                "assistant math expert: Transferring back to supervisor "
                "[transfer_back_to_supervisor]\n"
                "tool transfer_back_to_supervisor: Successfully transferred back to supervisor\n"
                "assistant supervisor: final\n");
  BOOST_TEST(is_whole(out["messages"]));
  BOOST_TEST(message_member(out["messages"][2], "response_metadata")["__handoff_destination"]
             == value("math expert"));
  BOOST_TEST(boss->requests()[0].settings["parallel_tool_calls"] == value(false));
  BOOST_TEST(boss->requests()[0].tools[0]["description"]
             == value("Ask agent 'math expert' for help"));
}

BOOST_AUTO_TEST_CASE(a_supervisor_may_be_told_all_and_handoffs_may_leave_no_trace) {
  supervisor_options options{
    .agents = {member_of("math", {asks_for({add_1_2()}), "it is 3"}, {team_adder()})},
    .model = speaks({asks_for({hand_to("math")}), "final"})};
  options.output_mode = output_mode::full_history;
  BOOST_TEST(told(outcome_of(create_supervisor(options).compile())["messages"])
             == "user: q\nassistant supervisor:  [transfer_to_math]\n"
                "tool transfer_to_math: Successfully transferred to math\n"
                "assistant math:  [add]\ntool add: 3\nassistant math: it is 3\n"
                "assistant math: Transferring back to supervisor [transfer_back_to_supervisor]\n"
                "tool transfer_back_to_supervisor: Successfully transferred back to supervisor\n"
                "assistant supervisor: final\n");
  options = {.agents = {member_of("math", {"it is 3"})},
             .model = speaks({asks_for({{.name = "ask_math", .id = "h"}}), "final"}),
             .add_handoff_messages = false,
             .handoff_tool_prefix = "ask_"};
  BOOST_TEST(told(outcome_of(create_supervisor(options).compile())["messages"])
             == "user: q\nassistant math: it is 3\nassistant supervisor: final\n");
}

BOOST_AUTO_TEST_CASE(several_handoffs_of_one_turn_all_run_each_with_its_own_call) {
  for (bool prebuilt : {false, true}) {
    auto one = speaks({"one is done"}), two = speaks({"two is done"});
    auto member = [prebuilt](const char* name, chat_model_ptr model) {
      return prebuilt ? create_agent({.model = model, .name = name})
                      : create_react_agent({.model = model, .name = name});
    };
    auto team = create_supervisor(
      {.agents = {member("one", one), member("two", two)},
       .model = speaks({asks_for({hand_to("one", "a"), hand_to("two", "b")}, "both"), "final"}),
       .parallel_tool_calls = true,
       .add_handoff_back_messages = false});
    auto out = outcome_of(team.compile());
    BOOST_TEST(is_whole(out["messages"]));
    auto text = told(out["messages"]);
    BOOST_TEST(text.find("one is done") != std::string::npos);
    BOOST_TEST(text.find("two is done") != std::string::npos);
    BOOST_TEST(text.ends_with("assistant supervisor: final\n"));
    BOOST_TEST(told(one->requests().at(0).messages)
               == "user: q\nassistant supervisor: both [transfer_to_one]\n"
                  "tool transfer_to_one: Successfully transferred to one\n");
    BOOST_TEST(told(two->requests().at(0).messages)
               == "user: q\nassistant supervisor: both [transfer_to_two]\n"
                  "tool transfer_to_two: Successfully transferred to two\n");
  }
}

BOOST_AUTO_TEST_CASE(a_tool_that_was_called_beside_a_handoff_keeps_its_result) {
  auto math = speaks({"thanks"});
  auto boss = speaks({asks_for({hand_to("math"), add_1_2()}), "final"});
  auto out =
    outcome_of(create_supervisor({.agents = {create_react_agent({.model = math, .name = "math"})},
                                  .model = boss,
                                  .tools = {team_adder()}})
                 .compile());
  BOOST_TEST(is_whole(out["messages"]));
  BOOST_TEST(told(math->requests().at(0).messages)
             == "user: q\nassistant supervisor:  [transfer_to_math] [add]\ntool add: 3\n"
                "tool transfer_to_math: Successfully transferred to math\n");
  // With two handoffs, what is in common stays in common.
  auto one = speaks({"1"}), two = speaks({"2"});
  boss = speaks({asks_for({hand_to("one", "a"), add_1_2(), hand_to("two", "b")}), "final"});
  out = outcome_of(create_supervisor({.agents = {create_react_agent({.model = one, .name = "one"}),
                                                 create_react_agent({.model = two, .name = "two"})},
                                      .model = boss,
                                      .tools = {team_adder()},
                                      .output_mode = output_mode::full_history})
                     .compile());
  BOOST_TEST(is_whole(out["messages"]));
  for (const auto& heard : {one, two})
    BOOST_TEST(is_whole(heard->requests().at(0).messages));
  BOOST_TEST(told(out["messages"]).find("assistant supervisor:  [add]\ntool add: 3\n")
             != std::string::npos);
  boss = speaks({asks_for({hand_to("one", "a"), add_1_2(), hand_to("two", "b")}), "final"});
  out = outcome_of(create_supervisor({.agents = {member_of("one", {"1"}), member_of("two", {"2"})},
                                      .model = boss,
                                      .tools = {team_adder()}})
                     .compile());
  BOOST_TEST(told(boss->requests().back().messages).find("tool add: 3\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_agent_of_either_kind_runs_its_handoff_behind_its_other_tools) {
  for (const char* version : {"v1", "v2", "middleware"}) {
    auto answer = asks_for({hand_to("next"), add_1_2()});
    auto handoff = create_handoff_tool({.agent = "next"});
    auto first =
      version == std::string{"middleware"}
        ? create_agent({.model = speaks({answer}), .tools = {handoff, team_adder()}})
        : create_react_agent(
          {.model = speaks({answer}), .tools = {handoff, team_adder()}, .version = version});
    state_graph<> g{{{"messages", add_messages}}};
    g.add_node("first", first);
    g.add_node("next", member_of("next", {"done"}));
    g.add_edge(START, "first");
    BOOST_TEST(told(outcome_of(g.compile())["messages"])
               == "user: q\nassistant:  [transfer_to_next] [add]\ntool add: 3\n"
                  "tool transfer_to_next: Successfully transferred to next\n"
                  "assistant next: done\n");
  }
}

BOOST_AUTO_TEST_CASE(a_supervisor_forwards_an_answer_word_for_word) {
  tool_call forward{.name = "forward_message", .args = value{{"from_agent", "MATH"}}, .id = "f"};
  supervisor_options options{.agents = {member_of("math", {"it is 3"})},
                             .model = speaks({asks_for({hand_to("math")}), asks_for({forward})}),
                             .tools = {create_handoff_tool({.agent = "math"}),
                                       create_forward_message_tool()}};
  auto out = outcome_of(create_supervisor(options).compile());
  BOOST_TEST(told(out["messages"])
               .ends_with("Successfully transferred back to supervisor\n"
                          "assistant supervisor: it is 3\n"));
  options.model = speaks({asks_for({forward}), "alone then"});
  out = outcome_of(create_supervisor(options).compile());
  BOOST_TEST(told(out["messages"]).find("Could not find message from source agent MATH")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_are_shown_to_a_model_inline_and_taken_out_of_its_answers) {
  auto boss = speaks(
    {asks_for({hand_to("math")}), "<name>supervisor</name><content>three, he says</content>"});
  auto out = outcome_of(create_supervisor({.agents = {member_of("math", {"it is 3"})},
                                           .model = boss,
                                           .add_handoff_back_messages = false,
                                           .include_agent_name = agent_name_mode::inline_})
                          .compile());
  BOOST_TEST(told(out["messages"]).ends_with("assistant supervisor: three, he says\n"));
  BOOST_TEST(told(boss->requests().at(1).messages)
               .ends_with("assistant math: <name>math</name><content>it is 3</content>\n"));
}

BOOST_AUTO_TEST_CASE(a_team_is_an_agent_of_another_team) {
  auto research = create_supervisor({.agents = {member_of("search", {"found it"})},
                                     .model = speaks({asks_for({hand_to("search")}), "a fact"}),
                                     .supervisor_name = "research_lead"})
                    .compile({.name = "research"});
  auto writing = create_supervisor({.agents = {member_of("author", {"a text"})},
                                    .model = speaks({asks_for({hand_to("author")}), "a report"}),
                                    .supervisor_name = "writing_lead"})
                   .compile({.name = "writing"});
  auto top = create_supervisor({.agents = {research, writing},
                                .model = speaks({asks_for({hand_to("research", "r")}),
                                                 asks_for({hand_to("writing", "w")}), "published"}),
                                .add_handoff_messages = false});
  BOOST_TEST(told(outcome_of(top.compile())["messages"])
             == "user: q\nassistant research_lead: a fact\nassistant writing_lead: a report\n"
                "assistant supervisor: published\n");
}

BOOST_AUTO_TEST_CASE(teams_that_make_no_sense_are_refused) {
  auto model = speaks({});
  auto refused = [&](std::vector<team_member> agents, std::vector<tool> tools = {}) {
    return refusal_of(
      [&] { create_supervisor({.agents = agents, .model = model, .tools = tools}); });
  };
  BOOST_TEST(refused({create_react_agent({.model = model})}).find("Please specify a name") == 0U);
  auto a = member_of("a", {}), boss = member_of("supervisor", {});
  BOOST_TEST(refused({a, a}) == "Agent with name 'a' already exists. Agent names must be unique.");
  BOOST_TEST(refused({boss}).find("Agent with name 'supervisor' already") == 0U);
  BOOST_TEST(refused({a, member_of("b", {})}, {create_handoff_tool({.agent = "a"})})
               .find("Missing handoff tools for agents {'b'}")
             != std::string::npos);
  BOOST_TEST(refusal_of([] { create_swarm({}); }) == "agents list cannot be empty");
  BOOST_TEST(refusal_of([&] {
               create_swarm({.agents = {a}, .default_active_agent = "x"});
             }).find("Default active agent 'x' not found in agent names")
             == 0U);
}

// ---- swarm ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_swarm_goes_on_with_whoever_spoke_last) {
  auto a = speaks({asks_for({hand_to("b")})});
  auto b = speaks({"hello from b", "still b"});
  auto swarm = create_network({.agents = {{.model = a, .name = "a"}, {.model = b, .name = "b"}}});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(swarm.compile());
  auto out = app.invoke(team_question(), {.thread_id = "t"}).value();
  BOOST_TEST(told(out["messages"])
             == "user: q\nassistant a:  [transfer_to_b]\n"
                "tool transfer_to_b: Successfully transferred to b\nassistant b: hello from b\n");
  BOOST_TEST(out["active_agent"] == value("b"));
  out = app.invoke(team_question(), {.thread_id = "t"}).value();
  BOOST_TEST(told(out["messages"]).ends_with("user: q\nassistant b: still b\n"));
  BOOST_TEST(told(b->requests().at(0).messages).find("Successfully transferred to b")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(of_several_handoffs_of_a_swarm_the_first_is_obeyed_and_all_are_answered) {
  auto a = speaks({asks_for({hand_to("c", "1"), hand_to("b", "2"), hand_to("c", "3")})});
  auto swarm = create_network({.agents = {{.model = a, .name = "a"},
                                          {.model = speaks({}), .name = "b"},
                                          {.model = speaks({"c here"}), .name = "c"}}});
  auto out = outcome_of(swarm.compile());
  BOOST_TEST(out["active_agent"] == value("c"));
  BOOST_TEST(is_whole(out["messages"]));
  BOOST_TEST(told(out["messages"]).ends_with("assistant c: c here\n"));
  BOOST_TEST(message_member(out["messages"][3], "status") == value("error"));
}

BOOST_AUTO_TEST_CASE(an_active_agent_that_is_none_of_the_swarm_fails_the_run) {
  auto swarm = create_swarm({.agents = {member_of("a", {"hi"})}, .default_active_agent = "a"});
  runtime rt;
  auto how = rt.load(swarm.compile()).try_invoke(team_question().with("active_agent", "gone"));
  BOOST_REQUIRE(!how);
  BOOST_TEST(how.error().message().find("unknown agent `gone`") != std::string::npos);
}

// ---- agents as tools, workers ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agent_as_a_tool_works_in_a_conversation_of_its_own) {
  auto worker = speaks({asks_for({add_1_2()}), "it is 3"});
  auto inner = create_react_agent({.model = worker, .tools = {team_adder()}, .name = "math"});
  auto boss =
    speaks({asks_for({{.name = "math", .args = value{{"task", "1 + 2?"}}, .id = "t"}}), "three"});
  auto out = outcome_of(
    create_react_agent({.model = boss, .tools = {agent_as_tool(inner, "math", "Does sums")}}));
  BOOST_TEST(told(out["messages"])
             == "user: q\nassistant:  [math]\ntool math: it is 3\nassistant: three\n");
  BOOST_TEST(told(worker->requests().at(0).messages) == "user: 1 + 2?\n");
}

BOOST_AUTO_TEST_CASE(a_question_of_an_agent_in_a_team_waits_for_its_answer) {
  tool ask{"ask", "Asks a person",
           [](tool_runtime& runtime) { return runtime.interrupt(value("may I?")); }};
  auto team = create_supervisor(
    {.agents = {member_of("clerk", {asks_for({{.name = "ask", .id = "x"}}), "they said yes"},
                          {ask})},
     .model = speaks({asks_for({hand_to("clerk")}), "final"}),
     .add_handoff_back_messages = false});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(team.compile());
  auto paused = app.invoke(team_question(), {.thread_id = "t"});
  BOOST_REQUIRE(paused.interrupts().size() == 1U);
  auto out = app.invoke(command{.resume = value("yes")}, {.thread_id = "t"}).value();
  BOOST_TEST(told(out["messages"])
               .ends_with("assistant clerk: they said yes\n"
                          "assistant supervisor: final\n"));
}

BOOST_AUTO_TEST_CASE(an_agent_of_a_team_runs_on_a_worker) {
  for (bool swarm : {false, true}) {
    auto far = member_of("far", {asks_for({add_1_2()}), "it is 3"}, {team_adder()});
    auto graph = swarm
                   ? create_swarm({.agents = {{far, on_worker{}}}, .default_active_agent = "far"})
                   : create_supervisor({.agents = {{far, on_worker{}}},
                                        .model = speaks({asks_for({hand_to("far")}), "final"}),
                                        .add_handoff_back_messages = false});
    runtime rt{{.saver = make_memory_saver(), .workers = std::make_shared<loopback_workers>("w1")}};
    auto app = rt.load(graph.compile());
    bool was_there = false;
    auto parts = app.stream(team_question(), {.thread_id = "t"}, {stream_mode::tasks});
    while (auto part = parts.next())
      was_there |= part->data["name"] == value("far") && part->data["worker"] == value("w1");
    BOOST_TEST(was_there);
    BOOST_TEST(told(parts.outcome()->value()["messages"])
                 .ends_with(swarm ? "assistant far: it is 3\n" : "assistant supervisor: final\n"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
