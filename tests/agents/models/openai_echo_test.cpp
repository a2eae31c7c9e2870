// Members that endpoints of OpenAI's format add to an answer are sent to them again, and to no
// other endpoint.
#include "agents/messages/json_text.hpp"
#include "agents/models/openai_echo.hpp"
#include "agents/models/openai_wire.hpp"
#include "http/sse.hpp"
#include "tests/agents/wire/recordings.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

const std::string here = "https://user:word@models.test:8080/v1";
const std::string here_alone = "models.test:8080";

value echo_json(const std::string& text) {
  return from_json(text, json_form::plain).value();
}

value whole_answer(const std::string& message) {
  return openai_answer(echo_json(R"({"model":"m","choices":[{"index":0,"message":)" + message
                                 + R"(,"finish_reason":"stop"}]})"),
                       "id", here_alone);
}

sse_event event_of(std::string data) {
  sse_event out;
  out.data = std::move(data);
  return out;
}

// Each delta is an event.
value streamed_answer(const std::vector<std::string>& deltas) {
  auto reader = openai_reader("id", here_alone);
  for (const auto& delta : deltas)
    reader->take(event_of(R"({"model":"m","choices":[{"index":0,"delta":)" + delta + "}]}"));
  reader->take(event_of(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"));
  reader->take(event_of("[DONE]"));
  auto out = reader->finish();
  BOOST_TEST(to_json(join_chunks(reader->take_parts())) == to_json(out));
  return out;
}

// The message as it is sent to an endpoint.
value sent_to(const std::string& base_url, const value& message, bool own_address = false) {
  chat_model_options options;
  options.base_url = base_url;
  model_request asked{value::list({human_message("hi"), message, tool_message("x", "c1")})};
  return openai_request("m", options, asked, false, own_address)["messages"][1];
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_openai_echo)

BOOST_AUTO_TEST_CASE(signatures_of_calls_go_back_with_them) {
  const std::string calls = R"("tool_calls":[
    {"id":"c1","type":"function","function":{"name":"now","arguments":"{}"},
     "extra_content":{"google":{"thought_signature":"abc"}}},
    {"id":"c2","type":"function","function":{"name":"now","arguments":"{}"}}])";
  auto whole = whole_answer(R"({"role":"assistant",)" + calls + "}");
  auto streamed = streamed_answer({"{" + calls + "}"});
  for (const auto& message : {whole, streamed, message_from_json(message_to_json(whole))}) {
    auto sent = sent_to(here, message)["tool_calls"];
    BOOST_TEST(sent[0]["extra_content"]["google"]["thought_signature"] == value("abc"));
    BOOST_TEST(!sent[1].contains("extra_content"));
    BOOST_TEST(
      !sent_to("https://other.test/v1", message)["tool_calls"][0].contains("extra_content"));
    BOOST_TEST(!sent_to(here, message, true)["tool_calls"][0].contains("extra_content"));
  }
}

BOOST_AUTO_TEST_CASE(a_recorded_signature_of_a_message_goes_back_with_it) {
  test::recording gemini{"gemini_call_1"};
  auto said = echo_json(gemini.body());
  auto sent = sent_to(here, openai_answer(said, "id", here_alone));
  BOOST_TEST(sent["extra_content"] == said["choices"][0]["message"]["extra_content"]);
  BOOST_TEST(!sent["extra_content"].is_null());
  BOOST_TEST(!sent_to(here, openai_answer(said, "id")).contains("extra_content"));
}

BOOST_AUTO_TEST_CASE(thoughts_before_calls_go_back_under_the_name_they_had) {
  const std::string calls =
    R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"}}])";
  auto message = whole_answer(R"({"reasoning_content":"Hm. Now?",)" + calls + "}");
  BOOST_TEST(sent_to(here, message)["reasoning_content"] == value("Hm. Now?"));
  auto streamed = streamed_answer(
    {R"({"reasoning_content":"Hm. "})", R"({"reasoning_content":"Now?"})", "{" + calls + "}"});
  BOOST_TEST(sent_to(here, streamed)["reasoning_content"] == value("Hm. Now?"));
  BOOST_TEST(!sent_to("https://other.test/v1", message).contains("reasoning_content"));
  // Not where nothing was called, nor what came under another name.
  auto alone = whole_answer(R"({"reasoning_content":"Hm.","content":"No."})");
  BOOST_TEST(!sent_to(here, alone).contains("reasoning_content"));
  auto other = whole_answer(R"({"reasoning":"Hm.",)" + calls + "}");
  BOOST_TEST(!sent_to(here, other).contains("reasoning_content"));
  BOOST_TEST(!sent_to(here, other).contains("reasoning"));
}

BOOST_AUTO_TEST_CASE(details_of_one_index_and_type_are_one) {
  auto message = streamed_answer(
    {R"({"reasoning_details":[{"type":"reasoning.text","text":"We ","index":0,"format":null}]})",
     R"({"reasoning_details":[{"type":"reasoning.text","text":"need","index":0,"format":"f"},
                              {"type":"reasoning.encrypted","data":"xyz","index":0}]})",
     R"({"reasoning_details":[{"type":"reasoning.text","index":0,"format":"f","signature":"s"}]})",
     R"({"reasoning_details":[{"type":"reasoning.summary","summary":"a"},
                              {"type":"reasoning.summary","summary":"b"}],"content":"Hi"})"});
  BOOST_TEST(to_json(sent_to(here, message)["reasoning_details"]) == to_json(echo_json(R"([
    {"type":"reasoning.text","index":0,"format":"f","signature":"s","text":"We need"},
    {"type":"reasoning.encrypted","data":"xyz","index":0},
    {"type":"reasoning.summary","summary":"a"},{"type":"reasoning.summary","summary":"b"}])")));
  BOOST_TEST(!sent_to("https://other.test", message).contains("reasoning_details"));
}

BOOST_AUTO_TEST_CASE(recorded_encrypted_details_go_back) {
  test::recording one{"openrouter_reasoning_streamed"};
  auto reader = openai_reader("id", here_alone);
  sse_decoder decoder;
  std::vector<sse_event> events;
  decoder.feed(one.body(), events).value();
  for (const auto& event : events)
    reader->take(event);
  auto sent = sent_to(here, reader->finish())["reasoning_details"];
  BOOST_REQUIRE(sent.size() == 1u);
  BOOST_TEST(sent[0]["type"] == value("reasoning.encrypted"));
  BOOST_TEST(one.body().find(sent[0]["data"].as<std::string>()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_a_message_names_besides_is_not_sent) {
  auto message = value::extension(
    value_kind::message,
    ai_message("hi")
      .payload()
      .with("additional_kwargs", value{{"role", "system"}})
      .with("response_metadata",
            echo_json(R"({"sent_back":{"to":"models.test:8080","members":["role","x"]}})")));
  BOOST_TEST(to_json(sent_to(here, message)) == R"({"content":"hi","role":"assistant"})");
}

BOOST_AUTO_TEST_CASE(details_have_a_bound) {
  openai_echo echo{"h"};
  auto detail = value{{"type", "reasoning.text"}, {"text", "x"}};
  auto said = value{{"reasoning_details", value::list({detail})}};
  for (std::size_t i = 0; i < limits::model_blocks_max; ++i)
    echo.hear(said);
  BOOST_CHECK_THROW(echo.hear(said), model_error);
}

BOOST_AUTO_TEST_CASE(an_endpoint_is_the_host_of_its_address) {
  BOOST_TEST(endpoint_of(here) == here_alone);
  BOOST_TEST(endpoint_of("http://localhost:11434/v1") == "localhost:11434");
  BOOST_TEST(endpoint_of("") == "");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
