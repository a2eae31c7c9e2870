// Questions of a server to its client: elicitation as interrupts of runs, and sampling by a model.
#include "agents/mcp/mcp_call.hpp"
#include "agents/messages/json_text.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/runtime.hpp>
#include <troupe/saver.hpp>
#include <troupe/state_graph.hpp>

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

mcp_program asking_program(const char* mode = "good") {
  return {.file = "/usr/bin/python3",
          .arguments = {TROUPE_SOURCE_DIR "/tests/mcp/scripted_server.py", mode, "asks"},
          .stop_wait = milliseconds{0}};
}

// An agent's tool node with the tools of the scripted server, and a thread for each call.
struct asking_agent {
  explicit asking_agent(mcp_options options = {.name = "s", .elicitation = true})
    : client{mcp_client::connect(asking_program(), std::move(options)).value()},
      loaded{load(client.tools().value())} {}

  app<> load(std::vector<tool> tools) {
    state_graph<> g{{{"messages", add_messages}}};
    g.add_node("tools", tool_node{std::move(tools)});
    g.add_edge(START, "tools");
    return rt.load(g.compile());
  }
  static value calling(const char* name) {
    auto asked = ai_message("", {{.name = name, .args = value::map(), .id = "c1"}}, "a");
    return value::map({{"messages", value::list({asked})}});
  }
  run_result call(const char* name, const std::string& thread = "t") {
    return loaded.invoke(calling(name), {.thread_id = thread});
  }
  result<run_result> resume(value answer, const std::string& thread = "t") {
    return loaded.try_invoke(command{.resume = std::move(answer)}, {.thread_id = thread});
  }

  runtime rt{{.saver = make_memory_saver()}};
  mcp_client client;
  app<> loaded;
};

value accepted_name(const char* name) {
  return value::map({{"action", "accept"}, {"content", value::map({{"name", name}})}});
}

std::string asked_text(const result<run_result>& run) {
  return run ? message_text(run->value()["messages"][1]) : run.error().message();
}

chat_model_ptr rhyming(std::size_t answers) {
  return std::make_shared<scripted_model>(
    std::vector<scripted_model::answer>(answers, scripted_model::answer{value("sun, fun")}));
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_questions)

// ---- elicitation ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_question_of_a_server_interrupts_the_run_and_an_answer_resumes_the_call) {
  asking_agent agent;
  auto paused = agent.call("elicits");
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  const auto& question = paused.interrupts()[0].value;
  BOOST_TEST(question["type"] == value("mcp_elicitation"));
  BOOST_TEST(question["server"] == value("s"));
  BOOST_TEST(question["message"] == value("Your name?"));
  BOOST_TEST(question["requested_schema"]["required"][0] == value("name"));
  BOOST_TEST(bool(agent.client.ping())); // the connection is not held up
  BOOST_TEST(asked_text(agent.resume(accepted_name("Ada")))
             == R"([{"action": "accept", "content": {"name": "Ada"}}])");
}

BOOST_AUTO_TEST_CASE(an_answer_that_does_not_fit_leaves_the_question_open) {
  asking_agent agent;
  agent.call("elicits");
  auto refused = [&](value answer) {
    auto run = agent.resume(std::move(answer));
    BOOST_REQUIRE(!run);
    BOOST_TEST((run.error().code() == errc::invalid_resume));
    return run.error().message();
  };
  BOOST_TEST(refused("Ada").find("must be a map with `action`") != std::string::npos);
  BOOST_TEST(refused(value::map({{"action", "accept"}})).find("must have a map as `content`")
             != std::string::npos);
  BOOST_TEST(refused(accepted_name("A")).find("content.name: ") != std::string::npos);
  BOOST_TEST(asked_text(agent.resume(value::map({{"action", "decline"}})))
             == R"([{"action": "decline"}])");
}

BOOST_AUTO_TEST_CASE(several_questions_of_one_call_are_asked_one_after_the_other) {
  asking_agent agent;
  BOOST_TEST(agent.call("elicits_twice").interrupts()[0].value["message"] == value("One?"));
  auto second = agent.resume(accepted_name("Ada")).value();
  BOOST_REQUIRE(second.paused());
  BOOST_TEST(second.interrupts()[0].value["message"] == value("Two?"));
  BOOST_TEST(asked_text(agent.resume(accepted_name("Eve")))
             == R"([{"action": "accept", "content": {"name": "Ada"}}, )"
                R"({"action": "accept", "content": {"name": "Eve"}}])");
}

BOOST_AUTO_TEST_CASE(a_call_that_was_lost_meanwhile_is_made_again_with_the_answers) {
  auto saver = make_memory_saver();
  auto run = [&](const run_input& input) {
    asking_agent agent;
    runtime rt{{.saver = saver}};
    state_graph<> g{{{"messages", add_messages}}};
    g.add_node("tools", tool_node{agent.client.tools().value()});
    g.add_edge(START, "tools");
    return rt.load(g.compile()).try_invoke(input, {.thread_id = "t"});
  };
  BOOST_TEST(run(asking_agent::calling("elicits")).value().paused());
  BOOST_TEST(asked_text(run(command{.resume = accepted_name("Ada")})) // by another server
             == R"([{"action": "accept", "content": {"name": "Ada"}}])");
}

BOOST_AUTO_TEST_CASE(a_question_waits_longer_than_a_call) {
  asking_agent agent{{.name = "s", .call_timeout = milliseconds{400}, .elicitation = true}};
  agent.call("elicits");
  auto later = std::chrono::steady_clock::now() + milliseconds{500};
  while (std::chrono::steady_clock::now() < later)
    agent.client.ping().value();
  BOOST_TEST(asked_text(agent.resume(accepted_name("Ada")))
             == R"([{"action": "accept", "content": {"name": "Ada"}}])");
}

class silent_listener final : public mcp_listener {
public:
  void progressed(const value&) override {}
  bool asked(mcp_asked) override { return true; }
};

BOOST_AUTO_TEST_CASE(a_question_that_may_belong_to_several_calls_is_asked_in_none) {
  mcp_session session{{.elicitation = true}};
  auto first = std::make_shared<silent_listener>();
  auto second = std::make_shared<silent_listener>();
  auto question = [](const value& meta) {
    return mcp_request(7, "elicitation/create", value::map({{"message", "?"}, {"_meta", meta}}));
  };
  auto without = session.hear(question({}));
  BOOST_TEST(without.reply == mcp_answer(7, value::map({{"action", "cancel"}})));
  auto ignore = [](const result<value>&) {};
  session.ask("tools/call", ignore, first);
  BOOST_TEST(session.hear(question({})).listener == first); // the only one
  auto id = session.ask("tools/call", ignore, second);
  BOOST_TEST(!session.hear(question({})).listener);
  BOOST_TEST(session.hear(question({}), id).listener == second); // in its response
  BOOST_TEST(session.hear(question(value::map({{mcp_related_member, id}}))).listener == second);
  BOOST_TEST(!session.hear(question(value::map({{mcp_related_member, 99}}))).listener);
}

BOOST_AUTO_TEST_CASE(a_question_without_a_call_or_of_another_kind_is_refused) {
  asking_agent agent;
  auto direct = agent.client.call_and_wait("elicits", value::map()).value();
  BOOST_TEST(text_in(direct["content"][0]["text"]) == R"([{"action": "cancel"}])");
  BOOST_TEST(asked_text(agent.call("elicits_url")).find("only the mode `form` is supported")
             != std::string::npos);
  auto badly = asked_text(agent.call("elicits_badly", "b"));
  BOOST_TEST(badly.find("message must be a text") != std::string::npos);
  BOOST_TEST(badly.find("Invalid request parameters\"}") != std::string::npos);
  BOOST_TEST(asked_text(agent.call("elicits_much", "m")).find("mcp_sampled_bytes_max")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_server_that_asks_on_and_on_is_answered_in_its_place) {
  asking_agent agent;
  auto run = agent.call("elicits_on");
  std::size_t asked = 0;
  for (; run.paused() && asked < 100; ++asked)
    run = agent.resume(accepted_name("Ada")).value();
  BOOST_TEST(asked == limits::mcp_questions_max);
  BOOST_TEST(asked_text(run).find(R"({"action": "cancel"})") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_announce_it_is_not_asked) {
  asking_agent agent{{.name = "s"}};
  BOOST_TEST(asked_text(agent.call("elicits"))
             == R"([{"code": -32601, "message": "Method not found"}])");
}

BOOST_AUTO_TEST_CASE(held_calls_have_a_bound_and_the_oldest_is_cancelled) {
  mcp_held_calls held;
  auto first = std::make_shared<mcp_call>(std::weak_ptr<mcp_transport>{}, mcp_options{});
  held.put("0", first);
  for (std::size_t i = 1; i <= limits::mcp_held_calls_max; ++i)
    held.put(std::to_string(i),
             std::make_shared<mcp_call>(std::weak_ptr<mcp_transport>{}, mcp_options{}));
  BOOST_TEST(!held.take("0"));
  BOOST_TEST(bool(held.take("1")));
  BOOST_TEST(!held.take("1"));
}

// ---- sampling -------------------------------------------------------------------------------

mcp_options sampling_by(chat_model_ptr model, std::optional<mcp_permission> permission) {
  mcp_options out{.name = "s"};
  out.sampling.model = std::move(model);
  out.sampling.calls_max = 2;
  if (permission)
    out.sampling.permission = [p = *permission](const value&) { return p; };
  return out;
}

BOOST_AUTO_TEST_CASE(a_model_of_ours_answers_a_server_that_has_the_permission) {
  auto model =
    std::make_shared<scripted_model>(std::vector<scripted_model::answer>{value("sun, fun")});
  asking_agent agent{sampling_by(model, mcp_permission::allow)};
  BOOST_TEST(asked_text(agent.call("samples"))
             == R"([{"content": {"text": "sun, fun", "type": "text"}, "model": "scripted", )"
                R"("role": "assistant", "stopReason": "endTurn"}])");
  auto request = model->requests().at(0);
  BOOST_TEST(message_role(request.messages[0]) == "system");
  BOOST_TEST(message_text(request.messages[1]) == "Rhyme");
  BOOST_TEST(request.settings["max_tokens"] == value(limits::mcp_sampled_tokens_max));
}

BOOST_AUTO_TEST_CASE(without_a_decision_a_person_is_asked_whether_the_model_may_answer) {
  asking_agent agent{sampling_by(rhyming(2), std::nullopt)};
  auto paused = agent.call("samples");
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  BOOST_TEST(paused.interrupts()[0].value["type"] == value("mcp_sampling"));
  BOOST_TEST(paused.interrupts()[0].value["request"]["systemPrompt"] == value("Be brief"));
  BOOST_TEST((agent.resume("maybe").error().code() == errc::invalid_resume));
  BOOST_TEST(asked_text(agent.resume(true)).find("sun, fun") != std::string::npos);
  agent.call("samples", "two");
  BOOST_TEST(asked_text(agent.resume(false, "two"))
             == R"([{"code": -1, "message": "The person denied the request"}])");
}

BOOST_AUTO_TEST_CASE(a_denied_request_is_an_error_of_the_server_s) {
  asking_agent agent{sampling_by(rhyming(1), mcp_permission::deny)};
  BOOST_TEST(asked_text(agent.call("samples"))
             == R"([{"code": -1, "message": "The request was denied"}])");
}

BOOST_AUTO_TEST_CASE(requests_to_a_model_have_bounds) {
  asking_agent agent{sampling_by(rhyming(2), mcp_permission::allow)};
  auto often = asked_text(agent.call("samples_often"));
  BOOST_TEST(often.find("The model answers no more requests of this call") != std::string::npos);
  auto badly = asked_text(agent.call("samples_badly", "b"));
  BOOST_TEST(badly.find("1 to 256 messages are expected") != std::string::npos);
  BOOST_TEST(badly.find("a message of an unknown role: 'system'") != std::string::npos);
  asking_agent fails{sampling_by(rhyming(0), mcp_permission::allow)};
  BOOST_TEST(asked_text(fails.call("samples")).find("The model failed: ") != std::string::npos);
}

struct sampled_case {
  const char* params;
  const char* why;
};
std::ostream& operator<<(std::ostream& out, const sampled_case& c) {
  return out << c.params;
}
const std::vector<sampled_case> sampled_cases{
  {R"({"messages":[{"role":"user","content":{"type":"audio","data":""}}],"maxTokens":1})",
   "content of a type that tool messages cannot hold: 'audio'"},
  {R"({"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":0})",
   "maxTokens must be a positive integer"},
  {R"({"messages":[{"role":"user","content":{"type":"text","text":"a"}}]})",
   "maxTokens must be a positive integer"},
};
BOOST_DATA_TEST_CASE(a_request_that_a_model_cannot_answer_is_refused, data::make(sampled_cases),
                     c) {
  auto params = from_json(c.params).value();
  auto made = mcp_sampled_request({.id = 1, .method = "sampling/createMessage", .params = params},
                                  {});
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.error().message().ends_with(c.why));
}

// ---- progress -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(progress_goes_to_its_call_and_its_texts_are_cut) {
  auto client = mcp_client::connect(asking_program()).value();
  std::vector<mcp_progress> seen;
  client
    .call_and_wait("progresses", value::map(), [&](const mcp_progress& p) { seen.push_back(p); })
    .value();
  BOOST_REQUIRE(seen.size() == 3u);
  BOOST_TEST(seen[0].progress == 1);
  BOOST_TEST(seen[0].total.value_or(0) == 4);
  BOOST_TEST(seen[1].message.size() == limits::mcp_log_bytes_max);
  BOOST_TEST(seen[2].progress == 0);
  BOOST_TEST(!seen[2].total.has_value());
}

// ---- a program that died ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_program_that_died_is_started_again_by_the_next_question) {
  auto program = asking_program("dies");
  program.restarts_max = 2;
  auto client = mcp_client::connect(program, {.name = "s"}).value();
  client.tools().value();
  auto die = [&] { return client.call_and_wait("echo", value::map()).error(); };
  auto first = die();
  BOOST_TEST(first.type() == "McpError");
  BOOST_TEST(bool(client.ping()));
  BOOST_TEST(client.tools_changed()); // another program may have other tools
  BOOST_TEST(client.tools().value().size() > 11u);
  BOOST_TEST(die().type() == "McpError");
  BOOST_TEST(bool(client.ping()));
  die(); // the third time in a row
  auto ended = client.ping();
  BOOST_REQUIRE(!ended);
  BOOST_TEST(ended.error().type() == "McpError");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
