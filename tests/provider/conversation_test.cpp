// The answers of the program fake_provider, without a network.
#include "tests/provider/conversation.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::test {
namespace {

// The body of what comes for this one.
value said_to(const responder& answers, const char* target, const char* body) {
  seen_request request{.method = "POST", .target = target, .headers = {}, .text = body};
  request.body = from_json(body).value();
  std::string text;
  for (const auto& step : answers(request))
    if (const auto* piece = std::get_if<send_bytes>(&step))
      text += piece->bytes;
  return from_json(text.substr(text.find("\r\n\r\n") + 4)).value();
}

constexpr const char* openai = "/v1/chat/completions";
constexpr const char* anthropic = "/v1/messages";

} // namespace

BOOST_AUTO_TEST_SUITE(provider_conversation)

BOOST_AUTO_TEST_CASE(it_says_what_it_was_told_where_it_has_no_tools) {
  auto answer = said_to(converses(), openai, R"({"messages":[{"role":"user","content":"hi"}]})");
  BOOST_TEST(answer["choices"][0]["message"]["content"] == value("hi"));
  answer = said_to(converses(), anthropic,
                   R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]})");
  BOOST_TEST(answer["content"][0]["text"] == value("hi"));
}

BOOST_AUTO_TEST_CASE(it_calls_the_first_tool_and_says_what_came_of_it) {
  auto answer = said_to(converses(), anthropic,
                        R"({"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"t",
      "input_schema":{"type":"object","required":["a","n"],
                      "properties":{"a":{"type":"string"},"n":{"type":"integer"}}}}]})");
  BOOST_TEST(answer["content"][0]["name"] == value("t"));
  BOOST_TEST(to_json(answer["content"][0]["input"]) == R"({"a":"hi","n":1})");
  answer = said_to(converses(), openai,
                   R"({"messages":[{"role":"tool","content":"42","tool_call_id":"call_1"}],
      "tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}]})");
  BOOST_TEST(answer["choices"][0]["message"]["content"] == value("The tool says: 42"));
}

BOOST_AUTO_TEST_CASE(a_script_goes_by_the_turns_of_each_conversation) {
  auto script = from_json(R"({"replies":[{"tool_calls":[{"name":"t","args":{"a":1}}]},
                              {"text":"done"},{"status":529,"message":"no"}]})");
  auto answers = scripted_by(*script).value();
  constexpr const char* first = R"({"messages":[{"role":"user","content":"x"}]})";
  constexpr const char* second = R"({"messages":[{"role":"assistant","content":"x"}]})";
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(said_to(answers, anthropic, first)["content"][0]["name"] == value("t"));
    BOOST_TEST(said_to(answers, anthropic, second)["content"][0]["text"] == value("done"));
  }
  answers = scripted_by(script->with("by", "request")).value();
  said_to(answers, anthropic, first);
  said_to(answers, anthropic, first);
  BOOST_TEST(said_to(answers, anthropic, first)["error"]["type"] == value("overloaded_error"));
  BOOST_TEST(!scripted_by(value::map()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
