// Messages and tasks of A2A.
#include "server/protocol/a2a_forms.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

const std::string a_context = "11111111-1111-4111-8111-111111111111";
const std::string a_run = "22222222-2222-4222-8222-222222222222";
const a2a_task_id task{a_context, a_run};

value parsed(const std::string& json) {
  return from_json(json, json_form::plain).value();
}

value params_with(const std::string& parts, const std::string& more = "") {
  return parsed(R"({"message":{"role":"user","messageId":"m","parts":)" + parts + more + "}}");
}

const value talks = parsed(R"({"properties":{"messages":{}}})");
const value counting = parsed(R"({"properties":{"count":{},"log":{}}})");
const assistant_record ann{.assistant_id = "A", .graph_id = "g", .name = "Ann"};

std::string problem_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const a2a_problem& no) {
    return std::to_string(static_cast<int>(no.code())) + ' ' + no.what();
  }
  return "none";
}

struct content_case {
  const char* parts;
  const char* input;
};
std::ostream& operator<<(std::ostream& out, const content_case& c) {
  return out << c.parts;
}
const std::vector<content_case> contents{
  {R"([{"kind":"text","text":"hi"}])", R"({"messages":[{"content":"hi","id":"m","role":"user"}]})"},
  {R"([{"kind":"text","text":"a"},{"kind":"text","text":"b"}])",
   R"({"messages":[{"content":"a\nb","id":"m","role":"user"}]})"},
  {R"([{"kind":"text","text":"see"},{"kind":"file","file":{"bytes":"aGk=","mimeType":"image/png"}}])",
   R"({"messages":[{"content":[{"text":"see","type":"text"},)"
   R"({"base64":"aGk=","mime_type":"image/png","type":"image"}],"id":"m","role":"user"}]})"},
  {R"([{"kind":"file","file":{"uri":"https://x/y"}}])",
   R"({"messages":[{"content":[{"type":"file","url":"https://x/y"}],"id":"m","role":"user"}]})"},
  {R"([{"raw":"aGk=","mediaType":"text/csv","filename":"a.csv"}])",
   R"({"messages":[{"content":[{"base64":"aGk=","extras":{"filename":"a.csv"},)"
   R"("mime_type":"text/csv","type":"file"}],"id":"m","role":"user"}]})"},
  {R"([{"kind":"data","data":{"n":1}}])", R"({"n":1})"},
  {R"([{"data":{"n":1}}])", R"({"n":1})"},
  {R"([{"kind":"text","text":"hi"},{"kind":"data","data":{"n":1}}])",
   R"({"messages":[{"content":"hi","id":"m","role":"user"}],"n":1})"}};

} // namespace

BOOST_AUTO_TEST_SUITE(server_a2a_forms)

BOOST_DATA_TEST_CASE(parts_become_the_input_of_a_run, data::make(contents), one) {
  auto message = read_a2a_message(params_with(one.parts), "new");
  BOOST_TEST(to_json(input_of_message(message, ann, talks)) == one.input);
}

BOOST_DATA_TEST_CASE(
  wrong_messages_are_refused,
  data::make({R"({})", R"({"message":1})", R"({"message":{"parts":[]}})",
              R"({"message":{"role":"user","parts":[]}})",
              R"({"message":{"role":"user","parts":[{"kind":"file","file":{}}]}})",
              R"({"message":{"role":"user","parts":[{"kind":"file",)"
              R"("file":{"bytes":"aGk=","uri":"https://x/y"}}]}})",
              R"({"message":{"parts":[{"kind":"text","text":"x"}]}})",
              R"({"message":{"role":"x","parts":[{"text":"x"}]}})",
              R"({"message":{"role":"user","parts":[{"kind":"text","text":"x"}],)"
              R"("contextId":"mine"}})"}),
  json) {
  auto problem = problem_of([&] { read_a2a_message(parsed(json), "new"); });
  BOOST_TEST(problem.starts_with("-32602 "), problem);
}

BOOST_DATA_TEST_CASE(parts_of_no_known_kind_are_refused,
                     data::make({R"([{"kind":"video"}])", R"([{"kind":"text"}])",
                                 R"([{"kind":"data","data":1}])"}),
                     parts) {
  auto problem = problem_of([&] { read_a2a_message(params_with(parts), "new"); });
  BOOST_TEST(problem.starts_with("-32005 "), problem);
}

BOOST_AUTO_TEST_CASE(a_task_names_its_context) {
  auto text = R"([{"kind":"text","text":"x"}])";
  auto read = read_a2a_message(params_with(text, R"(,"taskId":")" + task.text() + '"'), "new");
  BOOST_TEST(read.thread_id == a_context);
  auto other = R"(,"contextId":")" + a_run + R"(","taskId":")" + task.text() + '"';
  for (const auto& more : {other, std::string{R"(,"taskId":"x")"}}) {
    auto problem = problem_of([&] { read_a2a_message(params_with(text, more), "new"); });
    BOOST_TEST(problem.starts_with("-32001 "), problem);
  }
  BOOST_TEST(read_a2a_message(params_with(text), "new").thread_id.empty());
}

BOOST_AUTO_TEST_CASE(an_id_of_a_task_is_two_ids) {
  BOOST_REQUIRE(a2a_task_id::of(task.text()).has_value());
  BOOST_TEST(a2a_task_id::of(task.text())->run_id == a_run);
  for (const char* wrong : {"", ":", "x:y", "11111111-1111-4111-8111-111111111111"})
    BOOST_TEST(!a2a_task_id::of(wrong).has_value(), wrong);
}

BOOST_AUTO_TEST_CASE(a_graph_without_messages_takes_data_alone) {
  auto text = read_a2a_message(params_with(R"([{"kind":"text","text":"hi"}])"), "new");
  auto problem = problem_of([&] { input_of_message(text, ann, counting); });
  BOOST_TEST(problem
             == "-32602 Assistant 'A' (graph 'g') does not support A2A conversational messages. "
                "Graph input schema must include a 'messages' field to accept text or file parts. "
                "Available input fields: ['count', 'log']");
  auto numbers = read_a2a_message(params_with(R"([{"kind":"data","data":{"count":2}}])"), "new");
  BOOST_TEST(input_of_message(numbers, ann, counting) == value::map({{"count", 2}}));
}

BOOST_AUTO_TEST_CASE(a_history_has_what_users_and_agents_said) {
  auto state = parsed(
    R"({"messages":[{"type":"system","content":"be","id":"s"},)"
    R"({"type":"human","content":"one","id":"1"},{"type":"ai","content":"","id":"2"},)"
    R"({"type":"tool","content":"t","id":"3"},{"type":"ai","content":"two","id":"4"},)"
    R"({"type":"human","content":"three","id":"5"},)"
    R"({"type":"ai","content":[{"type":"text","text":"four"},{"type":"x"},)"
    R"({"type":"image","mime_type":"image/png","extras":{"filename":"y.png"},"url":"https://x/y"}],)"
    R"("id":"6"}]})");
  auto ids = [&](const history_choice& choice) {
    std::string out;
    auto history = history_form(state, task, "1", choice);
    for (const auto& one : history.items())
      out += one["messageId"].as<std::string>();
    return out;
  };
  BOOST_TEST(ids({}) == "1456");
  BOOST_TEST(ids({.most = 2}) == "56");
  BOOST_TEST(ids({.most = 0}) == "");
  BOOST_TEST(ids({.scope = history_scope::task}) == "14");
  auto last = history_form(state, task, "1", {.most = 1})[0];
  BOOST_TEST(
    to_json(last)
    == R"({"contextId":")" + a_context + R"(","kind":"message","messageId":"6",)"
         + R"("parts":[{"kind":"text","text":"four"},{"data":{"type":"x"},"kind":"data"},)"
         + R"({"file":{"mimeType":"image/png","name":"y.png","uri":"https://x/y"},"kind":"file"}],)"
         + R"("role":"agent","taskId":")" + task.text() + R"("})");
}

BOOST_AUTO_TEST_CASE(a_choice_of_history_is_checked) {
  BOOST_TEST((read_history_choice({}, "task").scope == history_scope::task));
  BOOST_TEST(read_history_choice(3, "").most == 3u);
  BOOST_TEST(problem_of([] { read_history_choice(-1, ""); }).starts_with("-32602"));
  BOOST_TEST(problem_of([] { read_history_choice("3", ""); }).starts_with("-32602"));
  BOOST_TEST(problem_of([] { read_history_choice({}, "all"); }).starts_with("-32602"));
}

BOOST_AUTO_TEST_CASE(a_run_s_status_is_a_task_s_state) {
  BOOST_TEST(task_state_of(run_status::pending, false) == "submitted");
  BOOST_TEST(task_state_of(run_status::running, false) == "working");
  BOOST_TEST(task_state_of(run_status::success, false) == "completed");
  BOOST_TEST(task_state_of(run_status::success, true) == "input-required");
  BOOST_TEST(task_state_of(run_status::interrupted, true) == "canceled");
  BOOST_TEST(task_state_of(run_status::error, false) == "failed");
  BOOST_TEST(task_state_of(run_status::timeout, false) == "failed");
}

BOOST_AUTO_TEST_CASE(an_artifact_is_the_last_answer_or_the_whole_output) {
  auto chat = parsed(R"({"messages":[{"type":"ai","content":"a"},{"type":"ai","content":"b"},)"
                     R"({"type":"human","content":"c"}]})");
  BOOST_TEST(to_json(artifact_form(chat, "id", "A")["parts"]) == R"([{"kind":"text","text":"b"}])");
  BOOST_TEST(to_json(artifact_form(parsed(R"({"n":1})"), "id", "A")["parts"])
             == R"([{"data":{"n":1},"kind":"data"}])");
}

BOOST_AUTO_TEST_CASE(a_question_is_a_text_or_data) {
  BOOST_TEST(to_json(parts_of_questions(parsed(R"([{"id":"1","value":"sure?"}])")))
             == R"([{"kind":"text","text":"sure?"}])");
  BOOST_TEST(to_json(parts_of_questions(parsed(R"([{"id":"1","value":{"q":1}}])")))
             == R"([{"data":{"q":1},"kind":"data"}])");
  auto two = parts_of_questions(parsed(R"([{"id":"1","value":1},{"id":"2","value":2}])"));
  BOOST_TEST(two[0]["data"]["value"].size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_card_says_what_the_assistant_takes) {
  auto card = agent_card(ann, talks, "http://h/a2a/A");
  BOOST_TEST(card["name"] == value("Ann"));
  BOOST_TEST(card["description"] == value("Ann assistant"));
  BOOST_TEST(card["url"] == value("http://h/a2a/A"));
  BOOST_TEST(card["supportedInterfaces"][0]["protocolVersion"] == value("1.0"));
  BOOST_TEST(card["supportedInterfaces"][1]["protocolVersion"] == value("0.3"));
  auto input = card["skills"][0]["metadata"]["inputSchema"];
  BOOST_TEST(input["supportsA2A"] == value(true));
  BOOST_TEST(input["required"] == value::list({"messages"}));
  auto other = agent_card(ann, counting, "u")["skills"][0]["metadata"]["inputSchema"];
  BOOST_TEST(other["supportsA2A"] == value(false));
  BOOST_TEST(other["properties"] == value::list({"count", "log"}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
