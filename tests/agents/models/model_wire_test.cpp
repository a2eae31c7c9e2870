// Requests to models' providers and their answers, as data. The files in tests/agents_wire
// have the shapes of the providers' documentation.
#include "agents/messages/json_text.hpp"
#include "agents/models/anthropic_wire.hpp"
#include "agents/models/openai_wire.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;

std::string wire_file(const std::string& name) {
  std::ifstream in{std::string{TROUPE_SOURCE_DIR} + "/tests/agents/wire/" + name};
  BOOST_REQUIRE_MESSAGE(in, name);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

value wire_json(const std::string& name) {
  return from_json(wire_file(name)).value();
}

model_request request_with(std::vector<value> messages) {
  return model_request{value::list(std::move(messages))};
}

value to_anthropic(const model_request& asked, const chat_model_options& options = {}) {
  return anthropic_request("claude", options, asked, false);
}
value to_openai(const model_request& asked, const chat_model_options& options = {}) {
  return openai_request("gpt", options, asked, false, true);
}

// A whole stream, in pieces of this size: its answer and its parts.
struct streamed {
  value answer;
  std::vector<value> parts;
};
streamed read_streamed(std::unique_ptr<answer_reader> reader, const std::string& text,
                       std::size_t piece = 1000) {
  sse_decoder decoder;
  std::vector<sse_event> events;
  streamed out;
  auto take_parts = [&] {
    for (auto& part : reader->take_parts())
      out.parts.push_back(std::move(part));
  };
  for (std::size_t at = 0; at < text.size(); at += piece) {
    events.clear();
    decoder.feed(std::string_view{text}.substr(at, piece), events).value();
    for (const auto& event : events)
      reader->take(event);
    take_parts();
  }
  BOOST_TEST(reader->is_complete());
  BOOST_TEST(reader->is_over());
  out.answer = reader->finish();
  take_parts();
  return out;
}

void check_json(const value& v, const std::string& expected) {
  BOOST_TEST(to_json(v) == to_json(from_json(expected).value()));
}

model_error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const model_error& e) {
    return e;
  }
  BOOST_FAIL("no model_error");
  throw 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_model_wire)

// ---- Anthropic: requests ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(anthropic_gets_a_conversation_with_tools_as_it_wants_it) {
  auto asked = request_with(
    {system_message("Be brief."), human_message("Weather in Ulm and Jena?"),
     ai_message(value::list({thinking_block("Two calls.", "c2ln"), text_block("I will look. ")}),
                {{.name = "weather", .args = value{{"city", "Ulm"}}, .id = "t1"},
                 {.name = "weather", .args = value{{"city", "Jena"}}, .id = "t.2"}}),
     tool_message("sunny", "t1", "weather"),
     tool_message("no such city", "t.2", "weather", "error"), human_message("And now?")});
  asked.tools = value::list({value::map({{"name", "weather"},
                                         {"description", "The weather."},
                                         {"parameters", value{{"type", "object"}}},
                                         {"cache_control", value{{"type", "ephemeral"}}}})});
  asked.tool_choice = "any";
  check_json(to_anthropic(asked, {.temperature = 0.5, .max_tokens = 100}),
             wire_file("anthropic_request.json"));
}

BOOST_AUTO_TEST_CASE(anthropic_gets_pictures_cache_marks_and_signed_thoughts_and_nothing_of_ours) {
  auto marked = text_block("long").with("cache_control", value{{"type", "ephemeral"}});
  auto asked = request_with(
    {system_message(value::list({marked})),
     human_message(
       value::list({text_block(" "), image_block("QUJD", "image/png"),
                    image_url_block("https://x/y.png"), marked,
                    value::map({{"type", "image_url"},
                                {"image_url", value{{"url", "data:image/gif;base64,R0lG"}}}})})),
     ai_message(value::list({thinking_block("unsigned"),
                             value::map({{"type", "redacted_thinking"}, {"data", "x"}}),
                             value::map({{"type", "text"}, {"text", "so"}, {"index", 1}})})),
     human_message("go on"), ai_message("Then: \n ")});
  auto body = to_anthropic(asked);
  check_json(body["system"],
             R"([{"type":"text","text":"long","cache_control":{"type":"ephemeral"}}])");
  check_json(body["messages"], R"([
    {"role":"user","content":[
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}},
      {"type":"image","source":{"type":"url","url":"https://x/y.png"}},
      {"type":"text","text":"long","cache_control":{"type":"ephemeral"}},
      {"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lG"}}]},
    {"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},{"type":"text","text":"so"}]},
    {"role":"user","content":"go on"},
    {"role":"assistant","content":"Then:"}])");
  BOOST_TEST((body["max_tokens"] == value(4096)));
  BOOST_TEST(!body.contains("tools"));
}

BOOST_AUTO_TEST_CASE(anthropic_gets_calls_once_also_broken_ones_and_no_empty_answers) {
  auto broken = value::extension(
    value_kind::message,
    ai_message("").payload().with(
      "invalid_tool_calls",
      value::list(
        {value::map({{"name", "f"}, {"args", "{oops"}, {"id", "b"}, {"error", nullptr}})})));
  auto asked = request_with(
    {human_message("hi"),
     ai_message(value::list({tool_use_block({.name = "f", .args = value{{"a", 1}}, .id = "c"})}),
                {{.name = "f", .args = value{{"a", 1}}, .id = "c"}}),
     tool_message("1", "c"), ai_message(""), broken, tool_message("2", "b")});
  check_json(to_anthropic(asked)["messages"], R"([
    {"role":"user","content":"hi"},
    {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"a":1}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"1","is_error":false}]},
    {"role":"assistant","content":[{"type":"tool_use","id":"b","name":"f","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"2","is_error":false}]}])");
}

BOOST_AUTO_TEST_CASE(anthropic_is_told_of_choices_settings_and_schemas_in_its_words) {
  auto asked = request_with({human_message("hi")});
  asked.tools =
    value::list({value::map({{"type", "web_search_20250305"}, {"name", "web_search"}})});
  asked.settings =
    value{{"stop", "END"}, {"parallel_tool_calls", false}, {"top_k", 5}, {"metadata", nullptr}};
  asked.response_schema =
    from_json(R"({"type":"object","properties":{"a":{"type":"object"}}})").value();
  auto body = to_anthropic(asked, {.settings = value{{"top_k", 1}, {"metadata", 1}}});
  check_json(body["tools"], R"([{"type":"web_search_20250305","name":"web_search"}])");
  check_json(body["tool_choice"], R"({"type":"auto","disable_parallel_tool_use":true})");
  check_json(body["stop_sequences"], R"(["END"])");
  BOOST_TEST((body["top_k"] == value(5)));
  BOOST_TEST(!body.contains("metadata"));
  BOOST_TEST(!body.contains("parallel_tool_calls"));
  check_json(body["output_config"], R"({"format":{"type":"json_schema","schema":
    {"type":"object","additionalProperties":false,
     "properties":{"a":{"type":"object","additionalProperties":false}}}}})");
  asked.settings = value::map();
  for (const auto& [choice, sent] : {std::pair{value("auto"), R"({"type":"auto"})"},
                                     {value("none"), R"({"type":"none"})"},
                                     {value("required"), R"({"type":"any"})"},
                                     {value("f"), R"({"type":"tool","name":"f"})"},
                                     {value{{"type", "any"}}, R"({"type":"any"})"}}) {
    asked.tool_choice = choice;
    check_json(to_anthropic(asked)["tool_choice"], sent);
  }
}

BOOST_AUTO_TEST_CASE(anthropic_has_one_place_for_system_messages) {
  auto two = request_with({system_message("a"), system_message("b"), human_message("hi")});
  check_json(to_anthropic(two)["system"],
             R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])");
  auto apart = request_with({system_message("a"), human_message("hi"), system_message("b")});
  BOOST_CHECK_THROW(to_anthropic(apart), node_error);
  BOOST_CHECK_THROW(to_anthropic(request_with({value("hi")})), error);
}

BOOST_AUTO_TEST_CASE(an_answer_of_anthropic_goes_back_as_it_came) {
  auto answer = anthropic_answer(wire_json("anthropic_answer.json"), "m1");
  auto body =
    to_anthropic(request_with({human_message("hi"), answer, tool_message("ok", "toolu_01A")}));
  auto sent = body["messages"][1]["content"];
  auto came = wire_json("anthropic_answer.json")["content"];
  BOOST_TEST(to_json(sent) == to_json(came));
}

// ---- Anthropic: answers -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_answer_of_anthropic_has_its_blocks_calls_usage_and_reason) {
  auto answer = anthropic_answer(wire_json("anthropic_answer.json"), "m1");
  BOOST_TEST((message_member(answer, "id") == value("m1")));
  BOOST_TEST(message_text(answer) == "I look it up.");
  check_json(message_member(answer, "content")[0],
             R"({"type":"thinking","thinking":"A city is named.","signature":"RXhhbXBsZQ=="})");
  check_json(message_tool_calls(answer), R"([{"id":"toolu_01A","name":"weather",
    "type":"tool_call","args":{"city":"Ulm","days":2}}])");
  check_json(message_member(answer, "usage"), R"({"input_tokens":19,"output_tokens":40,
    "total_tokens":59,"input_token_details":{"cache_read":7,"cache_creation":2}})");
  const auto& metadata = message_member(answer, "response_metadata");
  BOOST_TEST((metadata["stop_reason"] == value("tool_use")));
  BOOST_TEST((metadata["id"] == value("msg_01X")));
  BOOST_TEST((metadata["model_provider"] == value("anthropic")));
}

BOOST_AUTO_TEST_CASE(one_text_is_a_text) {
  auto json = from_json(R"({"type":"message","content":[{"type":"text","text":"Hi!"}]})").value();
  BOOST_TEST((message_member(anthropic_answer(json, "m"), "content") == value("Hi!")));
}

BOOST_DATA_TEST_CASE(a_stream_of_anthropic_is_the_same_however_it_is_cut,
                     data::make({1u, 2u, 3u, 7u, 64u, 100'000u}), piece) {
  auto read = read_streamed(anthropic_reader("m1", true), wire_file("anthropic_stream.txt"), piece);
  BOOST_TEST(to_json(read.answer) == to_json(join_chunks(read.parts)));
  BOOST_TEST(message_text(read.answer) == "Ich schaue nach: Grüße 😀");
  check_json(message_tool_calls(read.answer), R"([
    {"id":"toolu_01A","name":"weather","type":"tool_call","args":{"city":"Ulm","days":2}},
    {"id":"toolu_01B","name":"now","type":"tool_call","args":{}}])");
  check_json(message_member(read.answer, "content")[0], R"({"type":"thinking","index":0,
    "thinking":"Two things.","signature":"RXhhbXBsZQ=="})");
  check_json(message_member(read.answer, "usage"), R"({"input_tokens":481,"output_tokens":89,
    "total_tokens":570,"input_token_details":{"cache_read":7,"cache_creation":2}})");
  BOOST_TEST(
    (message_member(read.answer, "response_metadata")["stop_reason"] == value("tool_use")));
  for (const auto& part : read.parts)
    BOOST_TEST((message_member(part, "id") == value("m1")));
  BOOST_TEST((message_member(read.parts.back(), "chunk_position") == value("last")));
}

BOOST_AUTO_TEST_CASE(text_alone_is_streamed_as_text) {
  auto read = read_streamed(anthropic_reader("m1", false), wire_file("anthropic_text_stream.txt"));
  BOOST_TEST((message_member(read.answer, "content") == value("Hello!")));
  BOOST_TEST(to_json(read.answer) == to_json(join_chunks(read.parts)));
  for (const auto& part : read.parts)
    BOOST_TEST(message_member(part, "content").is_string());
}

BOOST_AUTO_TEST_CASE(thoughts_that_nobody_asked_for_are_kept) {
  auto read = read_streamed(anthropic_reader("m1", false), wire_file("anthropic_stream.txt"));
  BOOST_TEST((message_member(read.answer, "content")[0]["signature"] == value("RXhhbXBsZQ==")));
  BOOST_TEST(to_json(read.answer) == to_json(join_chunks(read.parts)));
}

BOOST_AUTO_TEST_CASE(an_error_in_a_stream_is_typed) {
  auto reader = anthropic_reader("m", false);
  auto failed = error_of([&] {
    reader->take({"error",
                  R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
                  ""});
  });
  BOOST_TEST(failed.kind() == "overloaded_error");
  BOOST_TEST(failed.type() == "OverloadedError");
  BOOST_TEST((failed.code() == errc::overloaded));
  BOOST_TEST(failed.may_try_again());
}

BOOST_DATA_TEST_CASE(events_of_anthropic_that_are_none_are_refused,
                     data::make({"garbage", "[]", R"({"type":"content_block_stop","index":0})",
                                 R"({"type":"content_block_delta","delta":{}})",
                                 R"({"type":"content_block_start","index":-1})",
                                 R"({"type":"content_block_start","index":"x"})"}),
                     text) {
  auto reader = anthropic_reader("m", false);
  bool begun = std::string_view{text}.find("delta") != std::string_view::npos
               || std::string_view{text}.find("start") != std::string_view::npos;
  if (begun)
    reader->take({"message_start", R"({"type":"message_start","message":{}})", ""});
  BOOST_TEST(error_of([&] { reader->take({"x", text, ""}); }).kind() == "broken_answer");
}

BOOST_AUTO_TEST_CASE(an_answer_has_so_many_blocks_and_no_more) {
  auto reader = anthropic_reader("m", false);
  reader->take({"message_start", R"({"type":"message_start","message":{}})", ""});
  auto begin = [&](std::size_t i) {
    reader->take({"x",
                  R"({"type":"content_block_start","content_block":{"type":"tool_use"},"index":)"
                    + std::to_string(i) + "}",
                  ""});
  };
  for (std::size_t i = 0; i < limits::model_blocks_max; ++i)
    begin(i * 1'000'003);
  BOOST_TEST(error_of([&] { begin(1); }).kind() == "broken_answer");
}

// ---- OpenAI: requests ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(openai_gets_a_conversation_with_tools_as_it_wants_it) {
  auto asked = request_with(
    {system_message("Be brief."), human_message("Weather?"),
     ai_message("", {{.name = "weather", .args = value{{"city", "Ulm"}}, .id = "c1"}}),
     tool_message("sunny", "c1", "weather", "error"),
     human_message(
       value::list({text_block("This?").with("cache_control", value{{"type", "ephemeral"}}),
                    image_block("QUJD", "image/png")}))});
  asked.tools = value::list({value::map({{"name", "weather"},
                                         {"description", "The weather."},
                                         {"parameters", value{{"type", "object"}}},
                                         {"cache_control", value{{"type", "ephemeral"}}}})});
  asked.tool_choice = "any";
  check_json(to_openai(asked, {.temperature = 0.5, .max_tokens = 100}),
             wire_file("openai_request.json"));
}

BOOST_AUTO_TEST_CASE(openai_is_told_of_choices_settings_and_schemas_in_its_words) {
  auto asked = request_with({human_message("hi")});
  asked.settings = value{{"parallel_tool_calls", false}, {"max_tokens", 5}, {"cache_control", 1}};
  auto body = openai_request("gpt", {}, asked, true, true);
  BOOST_TEST((body["max_completion_tokens"] == value(5)));
  BOOST_TEST(!body.contains("parallel_tool_calls"));
  BOOST_TEST(!body.contains("cache_control"));
  check_json(body["stream_options"], R"({"include_usage":true})");
  BOOST_TEST((openai_request("gpt", {}, asked, false, false)["max_tokens"] == value(5)));
  asked.tools = value::list({value::map({{"name", "f"}, {"parameters", value::map()}})});
  for (const auto& [choice, sent] :
       {std::pair{value("auto"), R"("auto")"},
        {value("any"), R"("required")"},
        {value("f"), R"({"type":"function","function":{"name":"f"}})"}}) {
    asked.tool_choice = choice;
    check_json(to_openai(asked)["tool_choice"], sent);
  }
  asked.response_schema =
    from_json(R"({"title":"My Answer","type":"object","properties":{"a":{}},"required":["a"]})")
      .value();
  auto format = to_openai(asked)["response_format"]["json_schema"];
  BOOST_TEST((format["name"] == value("MyAnswer")));
  BOOST_TEST((format["strict"] == value(false)));
  asked.response_schema = asked.response_schema.with("additionalProperties", false);
  BOOST_TEST((to_openai(asked)["response_format"]["json_schema"]["strict"] == value(true)));
}

BOOST_AUTO_TEST_CASE(calls_whose_arguments_were_no_json_go_back_to_openai_as_they_came) {
  auto answer = openai_answer(wire_json("openai_answer.json"), "m");
  auto body = to_openai(request_with({human_message("hi"), answer}));
  BOOST_TEST(to_json(body["messages"][1]["tool_calls"][1]["function"])
             == R"({"arguments":"{\"city\": ","name":"weather"})");
}

// ---- OpenAI: answers ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_answer_of_openai_has_its_text_calls_usage_and_reason) {
  auto answer = openai_answer(wire_json("openai_answer.json"), "m1");
  BOOST_TEST((message_member(answer, "content") == value("")));
  check_json(message_tool_calls(answer), R"([{"id":"call_1","name":"weather",
    "type":"tool_call","args":{"city":"Ulm\nDonau"}}])");
  const auto& invalid = message_member(answer, "invalid_tool_calls")[0];
  BOOST_TEST((invalid["args"] == value(R"({"city": )")));
  BOOST_TEST(to_json(invalid["error"]).find("are not valid JSON") != std::string::npos);
  check_json(message_member(answer, "usage"), R"({"input_tokens":82,"output_tokens":17,
    "total_tokens":99,"input_token_details":{"cache_read":64},
    "output_token_details":{"reasoning":10}})");
  BOOST_TEST((message_member(answer, "response_metadata")["finish_reason"] == value("tool_calls")));
  BOOST_TEST((message_member(answer, "additional_kwargs")["reasoning_content"] == value("Hm.")));
}

BOOST_DATA_TEST_CASE(a_stream_of_openai_is_the_same_however_it_is_cut,
                     data::make({1u, 2u, 3u, 7u, 64u, 100'000u}), piece) {
  auto read = read_streamed(openai_reader("m1"), wire_file("openai_stream.txt"), piece);
  BOOST_TEST(to_json(read.answer) == to_json(join_chunks(read.parts)));
  BOOST_TEST(message_text(read.answer) == "Grüße 😀");
  check_json(message_tool_calls(read.answer), R"([
    {"id":"call_1","name":"weather","type":"tool_call","args":{"city":"Ulm"}},
    {"id":"call_2","name":"now","type":"tool_call","args":{}}])");
  check_json(message_member(read.answer, "usage"), R"({"input_tokens":82,"output_tokens":17,
    "total_tokens":99,"input_token_details":{"cache_read":0}})");
  BOOST_TEST(
    (message_member(read.answer, "response_metadata")["finish_reason"] == value("tool_calls")));
}

BOOST_AUTO_TEST_CASE(compatible_servers_may_be_less_exact) {
  std::string text;
  for (
    const auto* data : {
      R"({"id":"x","choices":[{"delta":null}]})",
      R"({"choices":[{"delta":{"role":"assistant","reasoning":"So"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}})",
      R"({"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]})",
      R"({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1}"}}]}}]})",
      R"({"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":{"y":2}}}]}}]})",
      R"({"choices":[{"delta":{"tool_calls":[{"index":7,"id":"c","function":{"name":"h","arguments":"{"}}]}}]})",
      R"({"choices":[{"delta":{"tool_calls":[{"index":7,"id":"c","function":{"name":"h","arguments":"}"}}]}}]})",
      R"({"choices":[{"delta":{"tool_calls":[{"index":7,"id":"d","function":{"name":"h"}}]}}]})",
      R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":5}})",
      R"({"choices":null})",
    })
    text += std::string{"data: "} + data + "\n\n";
  auto read = read_streamed(openai_reader("m1"), text + "data: [DONE]\n\n");
  check_json(message_tool_calls(read.answer), R"([
    {"id":"a","name":"f","type":"tool_call","args":{"x":1}},
    {"id":"b","name":"g","type":"tool_call","args":{"y":2}},
    {"id":"c","name":"h","type":"tool_call","args":{}},
    {"id":"d","name":"h","type":"tool_call","args":{}}])");
  check_json(message_member(read.answer, "usage"),
             R"({"input_tokens":1,"output_tokens":5,"total_tokens":6})");
  BOOST_TEST(to_json(read.answer) == to_json(join_chunks(read.parts)));
}

BOOST_DATA_TEST_CASE(what_is_no_answer_of_openai_is_refused,
                     data::make({R"({})", R"({"choices":null})", R"({"choices":[]})",
                                 R"({"choices":[{}]})", R"({"choices":[{"message":null}]})"}),
                     text) {
  BOOST_TEST(error_of([&] { openai_answer(from_json(text).value(), "m"); }).kind()
             == "broken_answer");
}

BOOST_AUTO_TEST_CASE(an_error_in_an_answers_place_is_typed) {
  auto failed = error_of([] {
    openai_answer(
      from_json(R"({"error":{"message":"no room","type":"server_error","code":500}})").value(),
      "m");
  });
  BOOST_TEST(failed.type() == "InternalServerError");
  BOOST_TEST(failed.may_try_again());
}

BOOST_AUTO_TEST_CASE(members_that_mean_something_in_our_own_json_mean_nothing_in_theirs) {
  const std::string args = R"({"$bytes": "aGk=", "at": {"$ref": "x"}})";
  const std::string quoted = R"({\"$bytes\": \"aGk=\", \"at\": {\"$ref\": \"x\"}})";
  const auto expected = value::map({{"$bytes", "aGk="}, {"at", value::map({{"$ref", "x"}})}});
  std::vector<value> answers;
  auto whole = [&](std::string_view before, const std::string& text, std::string_view behind) {
    return from_json(std::string{before} + text + std::string{behind}, json_form::plain).value();
  };
  answers.push_back(anthropic_answer(
    whole(R"({"content":[{"type":"tool_use","id":"a","name":"f","input":)", args, "}]}"), "m"));
  answers.push_back(openai_answer(
    whole(R"({"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":")",
          quoted, R"("}}]}}]})"),
    "m"));
  auto stream =
    R"(data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":")"
    + quoted + "\"}}]}}]}\n\ndata: [DONE]\n\n";
  auto read = read_streamed(openai_reader("m"), stream);
  answers.push_back(read.answer);
  answers.push_back(join_chunks(read.parts));
  for (const auto& answer : answers)
    BOOST_TEST((message_tool_calls(answer)[0]["args"] == expected));
}

// ---- errors -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_refusal_becomes_an_error_of_its_class) {
  struct row {
    int status;
    errc code;
    const char* type;
    bool again;
  };
  for (const auto& r : {row{400, errc::invalid_value, "BadRequestError", false},
                        row{401, errc::invalid_config, "AuthenticationError", false},
                        row{403, errc::invalid_config, "PermissionDeniedError", false},
                        row{404, errc::invalid_value, "NotFoundError", false},
                        row{408, errc::node_timeout, "APITimeoutError", true},
                        row{409, errc::node_failed, "ConflictError", true},
                        row{413, errc::invalid_value, "RequestTooLargeError", false},
                        row{422, errc::invalid_value, "UnprocessableEntityError", false},
                        row{429, errc::overloaded, "RateLimitError", true},
                        row{500, errc::node_failed, "InternalServerError", true},
                        row{529, errc::overloaded, "OverloadedError", true},
                        row{302, errc::node_failed, "APIStatusError", false}}) {
    http_head head;
    head.status = r.status;
    head.headers = {{"request-id", "req_1"}};
    auto e = refused_by_status(head, R"({"error":{"type":"t","message":"why"}})", {});
    BOOST_TEST((e.code() == r.code));
    BOOST_TEST(e.type() == r.type);
    BOOST_TEST(e.may_try_again() == r.again);
    BOOST_TEST(e.status() == r.status);
    BOOST_TEST(e.request_id() == "req_1");
  }
}

BOOST_AUTO_TEST_CASE(a_context_that_is_too_long_is_known_by_its_code) {
  http_head head;
  head.status = 400;
  for (const auto* body : {R"({"error":{"message":"m","code":"context_length_exceeded"}})",
                           R"({"error":{"message":"prompt is too long: 210000 tokens"}})"})
    BOOST_TEST(refused_by_status(head, body, {}).type() == "ContextOverflowError");
  BOOST_TEST(read_reported_error(from_json(R"({"error":"plain"})").value()).message == "plain");
  BOOST_TEST(read_reported_error(from_json(R"({"detail":"plain"})").value()).message == "plain");
  BOOST_TEST(read_reported_error(from_json(R"({"detail":[{"msg":"m"}]})").value()).message
             == R"([{"msg":"m"}])");
  BOOST_TEST(
    read_reported_error(from_json(R"({"object":"error","message":"m","type":"x"})").value()).kind
    == "x");
}

BOOST_AUTO_TEST_CASE(what_an_error_says_is_one_short_line_without_the_key_and_the_messages) {
  auto messages =
    value::list({human_message("The secret plan is to meet at the old bridge at noon.")});
  hidden_texts hidden{"sk-test-123456", messages};
  auto said = [&](std::string message) {
    return told_error("openai:gpt",
                      {errc::invalid_value,
                       std::move(message),
                       "T",
                       {.status = 400, .kind = "k", .request_id = "r1"}},
                      hidden)
      .message();
  };
  BOOST_TEST(said("too\nlong\x07")
             == "ask model `openai:gpt`: status 400, k: too long  (request r1)");
  BOOST_TEST(said("Incorrect API key: sk-test-***").find("sk-test") == std::string::npos);
  BOOST_TEST(said("bad: plan is to meet at the old bridge").find("bridge") == std::string::npos);
  BOOST_TEST(said(std::string(100'000, 'x')).size() < limits::model_error_bytes_max + 100);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
