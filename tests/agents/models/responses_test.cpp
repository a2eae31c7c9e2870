// OpenAI's Responses API: requests and answers, pure and over HTTP.
#include "agents/models/openai_wire.hpp"
#include "agents/models/responses_wire.hpp"
#include "http/sse.hpp"
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/agent.hpp>
#include <troupe/agents/model_providers.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdlib.h>

#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using test::fake_provider;

value response_json(std::string_view text) {
  return from_json(text, json_form::plain).value();
}

// An answer with every kind of item.
constexpr auto whole_response =
  R"({"id":"resp_1","object":"response","created_at":5,"model":"gpt-5",
"status":"completed","error":null,"incomplete_details":null,"output":[
{"type":"reasoning","id":"rs_1","encrypted_content":"abc","summary":[
 {"type":"summary_text","text":"First."},{"type":"summary_text","text":"Then."}]},
{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},
{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[
 {"type":"output_text","text":"It rains.","annotations":[
  {"type":"url_citation","url":"https://a.example","title":"A","start_index":0,"end_index":2}]}]},
{"type":"function_call","id":"fc_1","call_id":"c1","name":"add","arguments":"{\"a\":1}",
 "status":"completed"}],
"usage":{"input_tokens":10,"output_tokens":6,"total_tokens":16,
"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":3}}})";

std::string response_event(const std::string& data) {
  return "event: x\ndata: " + data + "\n\n";
}

// The same answer as a stream.
std::string streamed_response() {
  auto whole = response_json(whole_response);
  std::string out;
  auto add = [&out](const value& event) { out += response_event(to_json(event)); };
  auto delta = [&](const char* type, int output, int summary, const char* text) {
    add(value{{"type", type},
              {"output_index", output},
              {"summary_index", summary},
              {"content_index", 0},
              {"delta", text}});
  };
  auto done = [&](int output) {
    add(value{{"type", "response.output_item.done"},
              {"output_index", output},
              {"item", whole["output"][static_cast<std::size_t>(output)]}});
  };
  add(value{{"type", "response.created"}, {"response", {{"id", "resp_1"}}}});
  delta("response.reasoning_summary_text.delta", 0, 0, "Fir");
  delta("response.reasoning_summary_text.delta", 0, 0, "st.");
  delta("response.reasoning_summary_text.delta", 0, 1, "Then.");
  done(0);
  done(1);
  delta("response.output_text.delta", 2, 0, "It ");
  delta("response.output_text.delta", 2, 0, "rains.");
  done(2);
  add(value{{"type", "response.output_item.added"},
            {"output_index", 3},
            {"item",
             {{"type", "function_call"}, {"call_id", "c1"}, {"name", "add"}, {"arguments", ""}}}});
  delta("response.function_call_arguments.delta", 3, 0, "{\"a\"");
  delta("response.function_call_arguments.delta", 3, 0, ":1}");
  done(3);
  add(value{{"type", "response.completed"}, {"response", whole}});
  return out;
}

struct responses_read {
  value answer;
  std::vector<value> parts;
  bool complete = false;
};

responses_read read_stream(const std::string& bytes) {
  auto reader = responses_reader("m");
  sse_decoder decoder;
  std::vector<sse_event> events;
  decoder.feed(bytes, events).value();
  for (const auto& event : events)
    reader->take(event);
  responses_read out{.answer = {}, .parts = {}, .complete = reader->is_complete()};
  out.answer = reader->finish();
  out.parts = reader->take_parts();
  return out;
}

// Content without the places of its blocks.
value placeless(const value& content) {
  if (content.is_map()) {
    auto out = value::map();
    for (const auto& e : content.entries())
      if (e.key() != "index")
        out = out.with(e.key(), placeless(e.val));
    return out;
  }
  if (!content.is_list())
    return content;
  std::vector<value> out;
  for (const auto& item : content.items())
    out.push_back(placeless(item));
  return value::list(std::move(out));
}

value written(const value& messages, const chat_model_options& options = {}) {
  return responses_request("m", options, model_request{messages}, false);
}

struct responses_key {
  responses_key() { setenv("TROUPE_TEST_RESPONSES_KEY", "sk-test-9876543210", 1); }
  ~responses_key() { unsetenv("TROUPE_TEST_RESPONSES_KEY"); }
};

chat_model_options responses_at(const fake_provider& server) {
  return {.base_url = server.url() + "/v1",
          .api_key_variable = "TROUPE_TEST_RESPONSES_KEY",
          .use_responses_api = true,
          .attempts_max = 1};
}

struct responses_asked {
  value answer;
  std::vector<value> parts;
  std::optional<model_error> failure;
};

responses_asked ask_responses(chat_model& model, model_request request, bool stream) {
  runtime rt;
  responses_asked out;
  test::try_body(rt, [&](context& ctx) -> coro<value> {
    auto asked = request;
    if (stream)
      asked.on_part = [&out](const value& part) { out.parts.push_back(part); };
    try {
      auto call = model.invoke(std::move(asked), ctx);
      out.answer = co_await call;
    } catch (const model_error& e) {
      out.failure = e;
    }
    co_return value{};
  }).value();
  return out;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(agents_responses, responses_key)

// ---- answers ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_answer_keeps_the_items_of_the_provider_as_blocks) {
  auto answer = responses_answer(response_json(whole_response), "m");
  const auto& content = message_member(answer, "content");
  BOOST_REQUIRE(content.size() == 4u);
  BOOST_TEST((content[0]["encrypted_content"] == value("abc")));
  BOOST_TEST((content[0]["summary"][1]["text"] == value("Then.")));
  BOOST_TEST((content[1]["action"]["query"] == value("q")));
  BOOST_TEST((content[2]["annotations"][0]["url"] == value("https://a.example")));
  BOOST_TEST((content[2]["id"] == value("msg_1")));
  BOOST_TEST((content[3]["call_id"] == value("c1")));
  BOOST_TEST(message_text(answer) == "It rains.");
  auto call = message_tool_calls(answer)[0];
  BOOST_TEST((call["id"] == value("c1")));
  BOOST_TEST((call["args"] == value{{"a", 1}}));
  const auto& usage = message_member(answer, "usage");
  BOOST_TEST((usage["input_token_details"]["cache_read"] == value(4)));
  BOOST_TEST((usage["output_token_details"]["reasoning"] == value(3)));
  const auto& metadata = message_member(answer, "response_metadata");
  BOOST_TEST((metadata["id"] == value("resp_1")));
  BOOST_TEST((metadata["model_name"] == value("gpt-5")));
  BOOST_TEST((metadata["finish_reason"] == value("tool_calls")));
}

BOOST_AUTO_TEST_CASE(a_stream_gives_the_same_answer_and_parts_whose_sum_it_is) {
  auto read = read_stream(streamed_response());
  BOOST_TEST(read.complete);
  auto whole = responses_answer(response_json(whole_response), "m");
  auto plain = value::extension(
    value_kind::message,
    read.answer.payload().with("content", placeless(message_member(read.answer, "content"))));
  BOOST_TEST(to_json(plain) == to_json(whole));
  BOOST_TEST(to_json(join_chunks(read.parts)) == to_json(read.answer));
}

BOOST_AUTO_TEST_CASE(items_that_come_without_pieces_are_complete) {
  auto whole = response_json(whole_response);
  std::string bytes;
  for (std::size_t i = 0; i < whole["output"].size(); ++i)
    bytes += response_event(to_json(value{{"type", "response.output_item.done"},
                                          {"output_index", static_cast<std::int64_t>(i)},
                                          {"item", whole["output"][i]}}));
  bytes += response_event(to_json(value{{"type", "response.completed"}, {"response", whole}}));
  auto read = read_stream(bytes);
  BOOST_TEST(message_text(read.answer) == "It rains.");
  BOOST_TEST((message_tool_calls(read.answer)[0]["args"] == value{{"a", 1}}));
  BOOST_TEST(to_json(join_chunks(read.parts)) == to_json(read.answer));
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_cut_gives_the_reason) {
  auto cut = response_json(whole_response)
               .with("output", value::list())
               .with("status", "incomplete")
               .with("incomplete_details", value{{"reason", "max_output_tokens"}});
  auto answer = responses_answer(cut, "m");
  BOOST_TEST((message_member(answer, "response_metadata")["finish_reason"] == value("length")));
  BOOST_TEST(message_member(answer, "content").empty());
}

BOOST_AUTO_TEST_CASE(a_refusal_is_kept_beside_the_content) {
  auto refused = response_json(R"({"id":"resp_1","status":"completed","output":[{"type":"message",
    "id":"msg_1","content":[{"type":"refusal","refusal":"I will not."}]}]})");
  auto answer = responses_answer(refused, "m");
  BOOST_TEST((message_member(answer, "additional_kwargs")["refusal"] == value("I will not.")));
  auto sent = written(value::list({answer}))["input"][0];
  BOOST_TEST((sent["content"][0]["refusal"] == value("I will not.")));
}

BOOST_AUTO_TEST_CASE(a_failed_response_is_an_error_of_the_model) {
  auto failed = response_json(R"({"id":"resp_1","status":"failed","output":[],
    "error":{"code":"rate_limit_exceeded","message":"slow down"}})");
  BOOST_CHECK_EXCEPTION(responses_answer(failed, "m"), model_error, [](const model_error& e) {
    return e.kind() == "rate_limit_exceeded" && e.message() == "slow down";
  });
  BOOST_CHECK_THROW(responses_answer(response_json("{}"), "m"), model_error);
  auto event = value{{"type", "response.failed"}, {"response", failed}};
  BOOST_CHECK_THROW(read_stream(response_event(to_json(event))), model_error);
  BOOST_CHECK_THROW(
    read_stream(response_event(R"({"type":"error","code":"server_error","message":"no"})")),
    model_error);
  BOOST_CHECK_THROW(read_stream(response_event("[1]")), model_error);
  BOOST_CHECK_THROW(
    read_stream(response_event(R"({"type":"response.function_call_arguments.delta","delta":"{"})")),
    model_error);
}

BOOST_AUTO_TEST_CASE(a_stream_without_its_last_event_is_not_complete) {
  BOOST_TEST(
    !read_stream(
       response_event(R"({"type":"response.output_text.delta","output_index":0,"delta":"x"})"))
       .complete);
}

// ---- as standard blocks -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_answer_is_shown_as_standard_blocks) {
  auto blocks = content_blocks(responses_answer(response_json(whole_response), "m"));
  std::string lines;
  for (const auto& block : blocks.items())
    lines += to_json(block) + "\n";
  BOOST_TEST(
    lines
    == R"({"extras":{"encrypted_content":"abc"},"id":"rs_1","reasoning":"First.","type":"reasoning"}
{"id":"rs_1","reasoning":"Then.","type":"reasoning"}
{"args":{"query":"q","type":"search"},"id":"ws_1","name":"web_search","type":"server_tool_call"}
{"status":"success","tool_call_id":"ws_1","type":"server_tool_result"}
{"annotations":[{"end_index":2,"start_index":0,"title":"A","type":"citation","url":"https://a.example"}],"id":"msg_1","text":"It rains.","type":"text"}
{"args":{"a":1},"extras":{"item_id":"fc_1"},"id":"c1","name":"add","type":"tool_call"}
)");
}

BOOST_AUTO_TEST_CASE(calls_of_the_provider_s_tools_are_shown_with_their_results) {
  auto shown = [](const char* item) {
    auto answer = value::extension(value_kind::message,
                                   value{{"role", "assistant"},
                                         {"content", value::list({response_json(item)})}});
    std::string out;
    auto blocks = content_blocks(answer);
    for (const auto& block : blocks.items())
      out += to_json(block) + "\n";
    return out;
  };
  BOOST_TEST(
    shown(R"({"type":"mcp_call","id":"m1","name":"roll","arguments":"{\"n\":2}",
    "output":"7","server_label":"dice","error":null})")
    == R"({"args":{"n":2},"extras":{"server_label":"dice","tool_name":"roll"},"id":"m1","name":"remote_mcp","type":"server_tool_call"}
{"output":"7","tool_call_id":"m1","type":"server_tool_result"}
)");
  BOOST_TEST(
    shown(R"({"type":"file_search_call","id":"f1","queries":["q"],"results":[{"x":1}],
    "status":"failed"})")
    == R"({"args":{"queries":["q"]},"id":"f1","name":"file_search","type":"server_tool_call"}
{"output":[{"x":1}],"status":"error","tool_call_id":"f1","type":"server_tool_result"}
)");
  BOOST_TEST(
    shown(R"({"type":"image_generation_call","id":"i1","result":"QUJD",
    "output_format":"png"})")
    == R"({"base64":"QUJD","extras":{"output_format":"png"},"id":"i1","mime_type":"image/png","type":"image"}
)");
  BOOST_TEST(
    shown(R"({"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{"})")
    == R"({"args":"{","extras":{"item_id":"fc"},"id":"c","name":"f","type":"invalid_tool_call"}
)");
  BOOST_TEST(shown(R"({"type":"local_shell_call","id":"l1"})")
             == R"({"type":"non_standard","value":{"id":"l1","type":"local_shell_call"}}
)");
}

// ---- requests -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_answer_is_sent_back_as_its_items) {
  auto answer = responses_answer(response_json(whole_response), "m");
  auto body = written(value::list(
    {system_message("Be brief."), human_message("hi"), answer, tool_message("2", "c1", "add")}));
  auto input = body["input"];
  BOOST_REQUIRE(input.size() == 7u);
  BOOST_TEST(to_json(input[0]) == R"({"content":"Be brief.","role":"system"})");
  auto output = response_json(whole_response)["output"];
  BOOST_TEST(to_json(input[2]) == to_json(output[0]));
  BOOST_TEST(to_json(input[3]) == to_json(output[1]));
  BOOST_TEST(to_json(input[4]) == to_json(output[2].without("status")));
  BOOST_TEST(to_json(input[5]) == to_json(output[3]));
  BOOST_TEST(to_json(input[6]) == R"({"call_id":"c1","output":"2","type":"function_call_output"})");
  auto streamed = read_stream(streamed_response()).answer;
  BOOST_TEST(to_json(written(value::list({streamed}))["input"])
             == to_json(written(value::list({answer}))["input"]));
}

BOOST_AUTO_TEST_CASE(calls_are_sent_as_the_message_has_them_now) {
  auto answer = responses_answer(response_json(whole_response), "m");
  auto changed = value::extension(
    value_kind::message,
    answer.payload().with(
      "tool_calls", value::list({value{{"id", "c1"}, {"name", "add"}, {"args", {{"a", 7}}}},
                                 value{{"id", "c2"}, {"name", "add"}, {"args", {{"a", 8}}}}})));
  auto input = written(value::list({changed}))["input"];
  BOOST_TEST((input[3]["id"] == value("fc_1")));
  BOOST_TEST((input[3]["arguments"] == value(R"({"a": 7})")));
  BOOST_TEST((input[4]["call_id"] == value("c2")));
  auto none = value::extension(value_kind::message, answer.payload().without("tool_calls"));
  BOOST_TEST(written(value::list({none}))["input"].size() == 3u);
}

BOOST_AUTO_TEST_CASE(blocks_of_other_providers_are_translated_or_left_out) {
  auto answer =
    ai_message(value::list({thinking_block("hm", "sig"), text_block("So."),
                            tool_use_block({.name = "add", .args = value{{"a", 1}}, .id = "t1"})}),
               {{.name = "add", .args = value{{"a", 1}}, .id = "t1"}});
  auto picture = human_message(value::list({text_block("Look"), image_block("QUJD", "image/png")}));
  auto input = written(value::list({picture, answer}))["input"];
  BOOST_REQUIRE(input.size() == 3u);
  BOOST_TEST((input[0]["content"][0]["type"] == value("input_text")));
  BOOST_TEST((input[0]["content"][1]["image_url"] == value("data:image/png;base64,QUJD")));
  BOOST_TEST((input[1]["content"][0]["text"] == value("So.")));
  BOOST_TEST((input[2]["call_id"] == value("t1")));
}

BOOST_AUTO_TEST_CASE(chat_completions_leave_out_items_of_the_responses_api) {
  auto answer = responses_answer(response_json(whole_response), "m");
  auto body = openai_request("m", {}, model_request{value::list({answer})}, false, true);
  auto content = body["messages"][0]["content"];
  BOOST_TEST(content.size() == 1u);
  BOOST_TEST((body["messages"][0]["tool_calls"][0]["id"] == value("c1")));
}

BOOST_AUTO_TEST_CASE(only_the_messages_after_a_stored_answer_are_sent_when_that_is_asked_for) {
  auto answer = responses_answer(response_json(whole_response), "m");
  auto talk = value::list({human_message("hi"), answer, tool_message("2", "c1")});
  auto body = written(talk, {.use_responses_api = true, .use_previous_response_id = true});
  BOOST_TEST((body["previous_response_id"] == value("resp_1")));
  BOOST_TEST(body["input"].size() == 1u);
  auto first = written(value::list({human_message("hi")}),
                       {.use_responses_api = true, .use_previous_response_id = true});
  BOOST_TEST(!first.contains("previous_response_id"));
}

BOOST_AUTO_TEST_CASE(settings_tools_and_schemas_have_this_format) {
  model_request request{value::list({human_message("hi")})};
  request.tools = value::list(
    {value{{"name", "add"}, {"parameters", {{"type", "object"}}}}, value{{"type", "web_search"}}});
  request.tool_choice = "web_search";
  request.response_schema = value{{"title", "Weather"}, {"type", "object"}};
  request.response_strict = true;
  request.settings = value{{"max_tokens", 9},
                           {"reasoning_effort", "low"},
                           {"reasoning", {{"summary", "auto"}}},
                           {"verbosity", "low"},
                           {"cache_control", {{"type", "ephemeral"}}},
                           {"store", false}};
  auto body = responses_request("m", {}, request, true);
  BOOST_TEST((body["tools"][0]["name"] == value("add")));
  BOOST_TEST((body["tools"][0]["type"] == value("function")));
  BOOST_TEST((body["tools"][1]["type"] == value("web_search")));
  BOOST_TEST(to_json(body["tool_choice"]) == R"({"type":"web_search"})");
  BOOST_TEST((body["max_output_tokens"] == value(9)));
  BOOST_TEST(to_json(body["reasoning"]) == R"({"effort":"low","summary":"auto"})");
  BOOST_TEST((body["text"]["verbosity"] == value("low")));
  BOOST_TEST((body["text"]["format"]["name"] == value("Weather")));
  BOOST_TEST((body["text"]["format"]["strict"] == value(true)));
  BOOST_TEST((body["store"] == value(false)));
  BOOST_TEST(!body.contains("cache_control"));
  request.tool_choice = "add";
  BOOST_TEST(to_json(responses_request("m", {}, request, true)["tool_choice"])
             == R"({"name":"add","type":"function"})");
}

// ---- over HTTP ----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_model_answers_at_the_responses_address,
                     boost::unit_test::data::make({false, true}), stream) {
  fake_provider server;
  server.always(test::says({.text = "Grüße an alle",
                            .calls = {{.id = "c1", .name = "add", .arguments = R"({"a": 1})"}},
                            .thinking = "Let me see",
                            .usage = {.input = 10, .output = 5, .cache_read = 2}}));
  auto model = init_chat_model("openai:m", responses_at(server));
  auto got = ask_responses(*model, model_request{value::list({human_message("hello")})}, stream);
  BOOST_TEST(message_text(got.answer) == "Grüße an alle");
  BOOST_TEST((message_tool_calls(got.answer)[0]["args"] == value{{"a", 1}}));
  BOOST_TEST((message_member(got.answer, "usage")["input_tokens"] == value(10)));
  BOOST_TEST(got.parts.empty() != stream);
  if (stream)
    BOOST_TEST(to_json(join_chunks(got.parts)) == to_json(got.answer));
  auto seen = server.requests().at(0);
  BOOST_TEST(seen.target == "/v1/responses");
  BOOST_TEST(seen.header_of("authorization") == "Bearer sk-test-9876543210");
  BOOST_TEST((seen.body["input"][0]["content"] == value("hello")));
}

BOOST_DATA_TEST_CASE(a_refused_request_gives_the_provider_s_error,
                     boost::unit_test::data::make({false, true}), stream) {
  fake_provider server;
  server.always(test::fails(429, "slow down"));
  auto model = init_chat_model("openai:m", responses_at(server));
  auto got = ask_responses(*model, model_request{value::list({human_message("hello")})}, stream);
  BOOST_REQUIRE(got.failure.has_value());
  BOOST_TEST(got.failure->status() == 429);
  BOOST_TEST(got.failure->type() == "RateLimitError");
}

BOOST_AUTO_TEST_CASE(a_stream_that_breaks_is_a_lost_connection) {
  fake_provider server;
  server.always(test::says({.text = "Grüße an alle"}, {.cut_after = 700}));
  auto model = init_chat_model("openai:m", responses_at(server));
  auto got = ask_responses(*model, model_request{value::list({human_message("hello")})}, true);
  BOOST_REQUIRE(got.failure.has_value());
  BOOST_TEST(got.failure->kind() == "connection");
}

BOOST_AUTO_TEST_CASE(an_agent_sends_the_reasoning_before_a_call_back_with_it) {
  fake_provider server;
  server.then(
    test::strictly(test::says({.calls = {{.id = "c1", .name = "add", .arguments = R"({"a": 1})"}},
                               .thinking = "Let me add"})));
  server.then(test::strictly(test::says({.text = "It is 2"})));
  tool add{"add", "Adds one", [](arg<"a", std::int64_t> a) { return *a + 1; }};
  tool search{value{{"type", "web_search"}}};
  runtime rt;
  auto agent = create_agent(
    {.model = init_chat_model("openai:m", responses_at(server)), .tools = {add, search}});
  auto done = rt.load(agent).invoke(value{{"messages", value::list({human_message("1 + 1?")})}});
  BOOST_TEST(message_text(done.value()["messages"][3]) == "It is 2");
  auto seen = server.requests();
  BOOST_REQUIRE(seen.size() == 2u);
  BOOST_TEST(to_json(seen[0].body["tools"][1]) == R"({"type":"web_search"})");
  auto input = seen[1].body["input"];
  BOOST_REQUIRE(input.size() == 4u);
  BOOST_TEST((input[1]["type"] == value("reasoning")));
  BOOST_TEST((input[1]["summary"][0]["text"] == value("Let me add")));
  BOOST_TEST((input[2]["id"] == value("fc_c1")));
  BOOST_TEST((input[3]["output"] == value("2")));
}

BOOST_AUTO_TEST_CASE(other_providers_have_no_responses_api) {
  chat_model_options options{.base_url = "http://127.0.0.1:1",
                             .api_key_variable = "TROUPE_TEST_RESPONSES_KEY",
                             .use_responses_api = true};
  BOOST_CHECK_EXCEPTION(init_chat_model("anthropic:m", options), error, [](const error& e) {
    return e.code() == errc::invalid_config
           && e.message().find("use_responses_api") != std::string::npos;
  });
  options.use_responses_api = false;
  options.use_previous_response_id = true;
  BOOST_CHECK_THROW(init_chat_model("openai:m", options), error);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
