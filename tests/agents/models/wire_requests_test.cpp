// Requests that others' clients sent to real providers, written again by ours; those that continue
// from a recorded answer use our reading of it. See tests/agents/wire/README.md.
#include "agents/messages/json_text.hpp"
#include "agents/models/anthropic_wire.hpp"
#include "agents/models/openai_wire.hpp"
#include "http/sse.hpp"
#include "tests/agents/wire/recordings.hpp"
#include "tests/provider/history_rules.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>

namespace troupe {
namespace {

using test::recording;
using test::string_or_none;

// Our reading of a recorded answer.
value answer_of(const recording& one) {
  if (!one.is_stream()) {
    auto json = from_json(one.body(), json_form::plain).value();
    return one.is_anthropic() ? anthropic_answer(json, "m") : openai_answer(json, "m");
  }
  auto reader = one.is_anthropic() ? anthropic_reader("m", true) : openai_reader("m");
  sse_decoder decoder;
  std::vector<sse_event> events;
  decoder.feed(one.body(), events).value();
  for (const auto& event : events)
    reader->take(event);
  return reader->finish();
}

// The reference's, as it would come out of a thread that it kept.
value reference_s_answer_of(const recording& one) {
  auto expected = test::recorded_json("recorded/" + one.name + ".expected.json");
  return message_from_json(expected["message"].with("type", "ai"));
}

// Ours, with the last answer of the conversation as a reader gave it.
model_request written_again(const recording& one, value (*read)(const recording&)) {
  auto out = test::request_of(one);
  auto before = string_or_none(one.head()["after"]);
  if (before.empty())
    return out;
  std::vector<value> messages(out.messages.items().begin(), out.messages.items().end());
  auto last = std::ranges::find_if(messages.rbegin(), messages.rend(),
                                   [](const value& m) { return message_role(m) == "assistant"; });
  BOOST_REQUIRE(last != messages.rend());
  *last = read({before});
  out.messages = value::list(std::move(messages));
  return out;
}

// ---- one form for what means the same -----------------------------------------------------------

// A text is a list of one text; members that are false, null or empty may be missing.
value as_blocks_of(const value& content) {
  return content.is_string() ? value::list({text_block(content.as_string())}) : content;
}

value same_block(const value& block) {
  auto out = block;
  auto type = string_or_none(block["type"]);
  if (type == "tool_result")
    out = out.with("content", as_blocks_of(block["content"]));
  if (block["is_error"] == value(false))
    out = out.without("is_error");
  if (type != "tool_use") // the reference sends back nobody's caller but a call's
    out = out.without("caller");
  return test::bare(out);
}

value same_blocks(const value& content) {
  std::vector<value> out;
  auto blocks = as_blocks_of(content);
  for (const auto& block : blocks.items())
    if (block["text"] != value(""))
      out.push_back(same_block(block));
  return value::list(std::move(out));
}

value same_call(const value& call) {
  auto arguments = read_arguments(string_or_none(call["function"]["arguments"])).value();
  return call.with("function", call["function"].with("arguments", arguments)).without("index");
}

value same_message(const value& message) {
  auto out = message.with("content", same_blocks(message["content"])).without("refusal");
  if (!message["tool_calls"].is_list())
    return test::bare(out);
  std::vector<value> calls;
  for (const auto& call : message["tool_calls"].items())
    calls.push_back(same_call(call));
  return test::bare(out.with("tool_calls", value::list(std::move(calls))));
}

value same_tools(const value& tools) {
  std::vector<value> out;
  for (const auto& tool : tools.items()) {
    const auto& function = tool["function"];
    out.push_back(function["description"] == value("")
                    ? tool.with("function", function.without("description"))
                    : tool);
  }
  return value::list(std::move(out));
}

value same_request(const value& body) {
  auto out = body.without("betas").without("stream").without("stream_options");
  if (!out["system"].is_null())
    out = out.with("system", same_blocks(out["system"]));
  std::vector<value> messages;
  for (const auto& message : body["messages"].items())
    messages.push_back(same_message(message));
  return out.with("messages", value::list(std::move(messages)))
    .with("tools", same_tools(body["tools"]));
}

std::vector<recording> with_requests() {
  std::vector<recording> out;
  for (auto& one : test::all_recordings())
    if (one.head()["request"]["messages"].is_list() && one.departure()["request"].is_null())
      out.push_back(one);
  return out;
}

const std::vector<recording> recorded_requests = with_requests();

void check_request(const recording& one, const model_request& asked) {
  auto theirs = one.head()["request"];
  auto model = string_or_none(theirs["model"]);
  auto ours = one.is_anthropic() ? anthropic_request(model, {}, asked, one.is_stream())
                                 : openai_request(model, {}, asked, one.is_stream(), false);
  auto same_ours = same_request(ours);
  auto same_theirs = same_request(theirs);
  for (const auto& e : same_theirs.entries())
    BOOST_TEST_CONTEXT(e.key()) {
      if (e.key() != "messages")
        BOOST_TEST(to_json(test::bare(same_ours[e.key()])) == to_json(test::bare(e.val)));
    }
  const auto& messages = same_theirs["messages"];
  BOOST_REQUIRE_EQUAL(same_ours["messages"].size(), messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i)
    BOOST_TEST(to_json(same_ours["messages"][i]) == to_json(messages[i]));
  for (const auto& e : same_ours.entries())
    BOOST_TEST(same_theirs.contains(e.key()), e.key());
}

model_request conversation_of(std::vector<value> messages) {
  return model_request{value::list(std::move(messages))};
}

void check_written(const value& ours, const char* expected) {
  BOOST_TEST(to_json(ours) == to_json(from_json(expected, json_form::plain).value()));
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_wire_requests)

BOOST_DATA_TEST_CASE(a_request_is_written_as_its_client_wrote_it,
                     boost::unit_test::data::make(recorded_requests), one) {
  check_request(one, written_again(one, answer_of));
}

BOOST_DATA_TEST_CASE(what_a_provider_took_our_own_one_takes,
                     boost::unit_test::data::make(recorded_requests), one) {
  auto head = one.head();
  if (head["status"] == value(200))
    BOOST_TEST(test::history_fault(one.is_anthropic() ? test::model_format::anthropic
                                                      : test::model_format::openai,
                                   head["request"])
               == "");
}

BOOST_DATA_TEST_CASE(a_request_goes_on_from_a_message_of_the_reference_s,
                     boost::unit_test::data::make(recorded_requests), one) {
  if (!string_or_none(one.head()["after"]).empty())
    check_request(one, written_again(one, reference_s_answer_of));
}

BOOST_AUTO_TEST_CASE(anthropic_gets_a_call_as_the_message_says_now_with_who_called) {
  auto given = from_json(R"({"type":"ai","content":[{"type":"tool_use","id":"a","name":"f",
      "input":{"x":1},"caller":{"type":"direct"}},
      {"type":"server_tool_use","id":"s","name":"g","input":{},"partial_json":"{\"q\":1}"}],
    "tool_calls":[{"id":"a","name":"f","args":{"x":2}},
      {"id":"b","name":"h","args":{},"extras":{"caller":{"type":"program"},"more":1}}]})",
                         json_form::plain);
  auto asked = conversation_of({human_message("hi"), message_from_json(given.value())});
  check_written(anthropic_request("claude", {}, asked, false)["messages"][1]["content"], R"([
    {"type":"tool_use","id":"a","name":"f","input":{"x":2},"caller":{"type":"direct"}},
    {"type":"server_tool_use","id":"s","name":"g","input":{"q":1}},
    {"type":"tool_use","id":"b","name":"h","input":{},"caller":{"type":"program"}}])");
}

BOOST_AUTO_TEST_CASE(anthropic_gets_the_toolset_of_a_call_also_with_its_result) {
  auto answer = anthropic_answer(from_json(R"({"content":[{"type":"tool_use","id":"a",
    "name":"click","input":{},"toolset_name":"computer"},
    {"type":"tool_use","id":"b","name":"f","input":{}}]})",
                                           json_form::plain)
                                   .value(),
                                 "m");
  auto asked =
    conversation_of({human_message("hi"), answer, tool_message("x", "a"), tool_message("y", "b")});
  check_written(anthropic_request("claude", {}, asked, false)["messages"][2]["content"], R"([
    {"type":"tool_result","tool_use_id":"a","content":"x","is_error":false,
     "toolset_name":"computer"},
    {"type":"tool_result","tool_use_id":"b","content":"y","is_error":false}])");
}

BOOST_AUTO_TEST_CASE(anthropic_gets_no_thoughts_that_another_provider_signed) {
  auto said = [](const char* provider) {
    auto given = from_json(R"({"type":"ai","content":[
      {"type":"reasoning","reasoning":"r","extras":{"signature":"s"}},
      {"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"so"}]})",
                           json_form::plain);
    auto message = given->with("response_metadata", value::map({{"model_provider", provider}}));
    auto asked =
      conversation_of({human_message("hi"), message_from_json(message), human_message("?")});
    return anthropic_request("claude", {}, asked, false)["messages"][1]["content"];
  };
  check_written(said("google_genai"), R"("so")");
  BOOST_TEST(said("anthropic").size() == 3u);
  BOOST_TEST(said("bedrock_converse").size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
