// Calls of tools whose arguments could not be read: the model gets the error, a bounded number of
// times, and every request after them has an answer to each call.
#include <troupe/agents/agent.hpp>
#include <troupe/agents/react_agent.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using model_script = std::vector<scripted_model::answer>;

const std::vector<std::string> both_agents{"react", "agent"};

value unread(std::string_view id, const std::vector<tool_call>& others = {}) {
  auto call = value::map({{"name", "add"}, {"args", "{\"a\": 1,"}, {"error", "not JSON"}});
  if (!id.empty())
    call = call.with("id", id);
  auto plain = ai_message("", others);
  return value::extension(value_kind::message,
                          plain.payload().with("invalid_tool_calls", value::list({call})));
}

tool addition() {
  return {
    "add", "Adds one", [](arg<"a", std::int64_t> a) { return *a + 1; }, {.lane = lane::standard}};
}

compiled_graph agent_of(const std::string& kind, chat_model_ptr model,
                        std::optional<std::size_t> answers_max = std::nullopt) {
  auto most = answers_max.value_or(limits::malformed_answers_default);
  if (kind == "react")
    return create_react_agent(
      {.model = model, .tools = {addition()}, .malformed_answers_max = most});
  return create_agent({.model = model, .tools = {addition()}, .malformed_answers_max = most});
}

value question(std::string_view text) {
  return value{{"messages", value::list({human_message(text)})}};
}

// Whether each call of a request is answered before the next message that is not a tool's.
bool is_sendable(const value& messages) {
  auto all = messages.items();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto* member : {"tool_calls", "invalid_tool_calls"})
      for (const auto& call : message_member(all[i], member).items()) {
        bool found = false;
        for (auto at = i + 1; at < all.size() && message_role(all[at]) == "tool"; ++at)
          found |= message_member(all[at], "tool_call_id") == call["id"];
        if (!found)
          return false;
      }
  return true;
}

std::string roles(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    out += std::string{message_role(m)} + ' ';
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_malformed)

BOOST_DATA_TEST_CASE(a_call_that_cannot_be_read_is_told_to_the_model, data::make(both_agents),
                     kind) {
  auto model = std::make_shared<scripted_model>(model_script{
    unread("c1"), ai_message("", {{.name = "add", .args = value{{"a", 1}}, .id = "c2"}}), "done",
    "again"});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(agent_of(kind, model));
  auto messages = app.invoke(question("hi"), {.thread_id = "t"}).value()["messages"];
  BOOST_TEST(roles(messages) == "user assistant tool assistant tool assistant ");
  BOOST_TEST(message_text(messages[2])
             == "Tool call add with id c1 could not be executed - arguments were malformed or "
                "truncated. Call it again with arguments that are one complete JSON object.");
  BOOST_TEST((message_member(messages[2], "status") == value("error")));
  app.invoke(question("and?"), {.thread_id = "t"});
  for (const auto& request : model->requests())
    BOOST_TEST(is_sendable(request.messages));
}

BOOST_DATA_TEST_CASE(answers_that_cannot_be_read_end_in_an_error_after_so_many,
                     data::make(both_agents), kind) {
  model_script answers(limits::malformed_answers_default, unread("c1"));
  answers.emplace_back("hello");
  auto model = std::make_shared<scripted_model>(answers);
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(agent_of(kind, model));
  auto failed = app.try_invoke(question("hi"), {.thread_id = "t"});
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "MalformedToolCallError");
  BOOST_TEST(
    failed.error().message().find("3 times in a row; the last call was of `add` (not JSON)")
    != std::string::npos);
  BOOST_TEST(failed.error().message().find("of graph `agent`") != std::string::npos);
  BOOST_TEST(model->requests().size() == limits::malformed_answers_default);
  app.invoke(question("and now?"), {.thread_id = "t"});
  BOOST_TEST(is_sendable(model->requests().back().messages));
}

BOOST_DATA_TEST_CASE(a_thread_that_has_such_a_call_can_be_sent, data::make(both_agents), kind) {
  auto model = std::make_shared<scripted_model>(model_script{"hello", "again"});
  runtime rt;
  auto app = rt.load(agent_of(kind, model));
  app.invoke(
    value{{"messages", value::list({human_message("hi"), unread("c1"), human_message("well?")})}});
  BOOST_TEST(is_sendable(model->requests().back().messages));
}

BOOST_DATA_TEST_CASE(without_attempts_such_an_answer_ends_the_run_and_the_next_is_sendable,
                     data::make(both_agents), kind) {
  auto model = std::make_shared<scripted_model>(model_script{unread("c1"), "hello"});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(agent_of(kind, model, 0));
  auto messages = app.invoke(question("hi"), {.thread_id = "t"}).value()["messages"];
  BOOST_TEST(roles(messages) == "user assistant ");
  app.invoke(question("well?"), {.thread_id = "t"});
  BOOST_TEST(is_sendable(model->requests().back().messages));
}

BOOST_DATA_TEST_CASE(beside_a_call_that_runs_the_other_is_answered_and_counts_no_attempt,
                     data::make(both_agents), kind) {
  tool_call good{.name = "add", .args = value{{"a", 1}}, .id = "c2"};
  model_script answers(limits::malformed_answers_default + 2, unread("c1", {good}));
  answers.emplace_back("done");
  auto model = std::make_shared<scripted_model>(answers);
  runtime rt;
  auto messages = rt.load(agent_of(kind, model)).invoke(question("hi")).value()["messages"];
  BOOST_TEST(message_text(messages[messages.size() - 1]) == "done");
  for (const auto& request : model->requests())
    BOOST_TEST(is_sendable(request.messages));
}

BOOST_DATA_TEST_CASE(a_call_without_an_id_gets_one, data::make(both_agents), kind) {
  auto model = std::make_shared<scripted_model>(model_script{unread(""), "done"});
  runtime rt;
  auto messages = rt.load(agent_of(kind, model)).invoke(question("hi")).value()["messages"];
  BOOST_TEST(roles(messages) == "user assistant tool assistant ");
  BOOST_TEST(is_sendable(model->requests().back().messages));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
