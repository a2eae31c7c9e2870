// Answers, streams and errors in every shape that the providers document. See
// tests/agents/wire/README.md.
#include "agents/messages/json_text.hpp"
#include "agents/models/anthropic_wire.hpp"
#include "agents/models/openai_wire.hpp"

#include <troupe/agents/memory_tool.hpp>
#include <troupe/agents/tool_runner.hpp>
#include <troupe/store.hpp>

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

std::string shape_file(const std::string& name) {
  std::ifstream in{std::string{TROUPE_SOURCE_DIR} + "/tests/agents/wire/" + name};
  BOOST_REQUIRE_MESSAGE(in, name);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

value shape_json(const std::string& name) {
  return from_json(shape_file(name), json_form::plain).value();
}

void check_shape(const value& v, const std::string& expected) {
  BOOST_TEST(to_json(v) == to_json(from_json(expected, json_form::plain).value()));
}

// A recorded stream, and who reads it.
struct recorded {
  const char* file;
  bool anthropic;
};
std::ostream& operator<<(std::ostream& out, const recorded& one) {
  return out << one.file;
}
const std::vector<recorded> recordings{
  {"anthropic_text_stream.txt", true},     {"anthropic_stream.txt", true},
  {"anthropic_thinking_stream.txt", true}, {"anthropic_web_search_stream.txt", true},
  {"openai_text_stream.txt", false},       {"openai_stream.txt", false},
};

std::unique_ptr<answer_reader> reader_of(const recorded& one) {
  return one.anthropic ? anthropic_reader("m1", false) : openai_reader("m1");
}

void feed_into(answer_reader& reader, sse_decoder& decoder, std::string_view bytes) {
  std::vector<sse_event> events;
  decoder.feed(bytes, events).value();
  for (const auto& event : events)
    reader.take(event);
}

// The events of a stream in two pieces, of which the first has so many bytes.
std::vector<sse_event> events_of(std::string_view text, std::size_t first) {
  sse_decoder decoder;
  std::vector<sse_event> out;
  decoder.feed(text.substr(0, first), out).value();
  decoder.feed(text.substr(first), out).value();
  return out;
}

struct read_back {
  value answer;
  std::vector<value> parts;
};
// The stream in two pieces, of which the first has so many bytes.
read_back read_cut(const recorded& one, std::string_view text, std::size_t first) {
  auto reader = reader_of(one);
  sse_decoder decoder;
  feed_into(*reader, decoder, text.substr(0, first));
  feed_into(*reader, decoder, text.substr(first));
  BOOST_REQUIRE(reader->is_complete());
  read_back out;
  out.answer = reader->finish();
  out.parts = reader->take_parts();
  return out;
}

read_back read_whole(const char* file, bool anthropic) {
  return read_cut({file, anthropic}, shape_file(file), 0);
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_wire_shapes)

// ---- streams --------------------------------------------------------------------------------

// A reader's result depends only on the events of the stream.
BOOST_DATA_TEST_CASE(a_stream_may_be_cut_at_any_byte, data::make(recordings), one) {
  auto text = shape_file(one.file);
  auto whole = events_of(text, text.size());
  BOOST_TEST(whole.size() > 4u);
  for (std::size_t at = 1; at < text.size(); ++at)
    if (events_of(text, at) != whole)
      BOOST_FAIL(one.file << " has other events when it is cut at byte " << at);
  auto answer = read_cut(one, text, 0);
  BOOST_TEST((join_chunks(answer.parts) == answer.answer));
  for (std::size_t at : {1u, 100u, 333u, 700u})
    BOOST_TEST((read_cut(one, text, at).answer == answer.answer));
}

BOOST_DATA_TEST_CASE(a_stream_that_ends_anywhere_before_its_end_is_no_answer,
                     data::make(recordings), one) {
  auto text = shape_file(one.file);
  auto end = text.find(one.anthropic ? "\"message_stop\"}" : "\"finish_reason\":\"");
  auto reader = reader_of(one);
  sse_decoder decoder;
  for (std::size_t at = 0; at < end; ++at) {
    feed_into(*reader, decoder, std::string_view{text}.substr(at, 1));
    if (reader->is_complete())
      BOOST_FAIL(one.file << " is taken for an answer after " << at + 1 << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(thoughts_redacted_ones_and_the_words_that_stopped_it_are_read_from_a_stream) {
  auto read = read_whole("anthropic_thinking_stream.txt", true);
  check_shape(message_member(read.answer, "content"), R"([
    {"type":"thinking","thinking":"First the\nsum: 17 × 3 = 51.",
     "signature":"c2lnbmVkIGJ5IG5vYm9keQ==","index":0},
    {"type":"redacted_thinking","data":"bm90aGluZw==","index":1},
    {"type":"text","text":"It is 51 – fünfzig und eins.","index":2}])");
  const auto& metadata = message_member(read.answer, "response_metadata");
  BOOST_TEST((metadata["stop_reason"] == value("stop_sequence")));
  BOOST_TEST((metadata["stop_sequence"] == value("eins.")));
  check_shape(message_member(read.answer, "usage"), R"({"input_tokens":45,"output_tokens":64,
    "total_tokens":109,"input_token_details":{"cache_read":0,"cache_creation":0}})");
}

BOOST_AUTO_TEST_CASE(a_tool_of_the_provider_s_own_keeps_its_input_result_and_sources) {
  auto read = read_whole("anthropic_web_search_stream.txt", true);
  const auto& content = message_member(read.answer, "content");
  check_shape(content[0], R"({"type":"server_tool_use","id":"srvtoolu_01A","name":"web_search",
    "input":{"query":"höchster Kirchturm"},"index":0})");
  BOOST_TEST((content[1]["content"][0]["title"] == value("Ulm Minster")));
  BOOST_TEST((content[2]["text"] == value("The one of Ulm Minster.")));
  BOOST_TEST((content[2]["citations"][0]["cited_text"] == value("161.5 metres")));
  BOOST_TEST(message_tool_calls(read.answer).empty()); // nobody here is to run it
  check_shape(message_member(read.answer, "usage"), R"({"input_tokens":9120,"output_tokens":77,
    "total_tokens":9197,"input_token_details":{"cache_read":120,"cache_creation":0,
    "ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}})");
  auto asked = model_request{value::list({human_message("hi"), read.answer, human_message("so?")})};
  auto sent = anthropic_request("claude", {}, asked, false)["messages"][1]["content"];
  BOOST_TEST((sent[0] == content[0].without("index")));
  BOOST_TEST((sent[1] == content[1].without("index")));
}

BOOST_AUTO_TEST_CASE(an_input_of_a_provider_s_tool_that_is_no_json_is_a_broken_answer) {
  for (const auto* end :
       {R"({"type":"content_block_stop","index":0})", R"({"type":"message_stop"})"}) {
    auto reader = anthropic_reader("m", false);
    reader->take({"", R"({"type":"message_start","message":{}})", ""});
    reader->take({"", R"({"type":"content_block_start","index":0,"content_block":
      {"type":"server_tool_use","id":"s","name":"f","input":{}}})",
                  ""});
    reader->take({"", R"({"type":"content_block_delta","index":0,"delta":
      {"type":"input_json_delta","partial_json":"{\"a"}})",
                  ""});
    BOOST_CHECK_EXCEPTION(reader->take({"", end, ""}), model_error,
                          [](const model_error& e) { return e.kind() == "broken_answer"; });
    BOOST_TEST(!reader->is_complete());
  }
}

BOOST_AUTO_TEST_CASE(a_text_of_openai_has_its_usage_behind_the_end_and_how_likely_it_was) {
  auto read = read_whole("openai_text_stream.txt", false);
  BOOST_TEST((message_member(read.answer, "content") == value("Über Ulm")));
  check_shape(message_member(read.answer, "usage"), R"({"input_tokens":1919,"output_tokens":4,
    "total_tokens":1923,"input_token_details":{"audio":0,"cache_read":1792},
    "output_token_details":{"audio":0,"reasoning":0}})");
  const auto& metadata = message_member(read.answer, "response_metadata");
  BOOST_TEST((metadata["finish_reason"] == value("stop")));
  BOOST_TEST((metadata["id"] == value("chatcmpl-B2")));
  BOOST_TEST((metadata["system_fingerprint"] == value("fp_2")));
  BOOST_TEST(metadata["logprobs"]["content"].size() == 2u);
  BOOST_TEST((metadata["logprobs"]["content"][1]["token"] == value(" Ulm")));
  BOOST_TEST(message_member(read.answer, "additional_kwargs").is_null());
}

BOOST_AUTO_TEST_CASE(an_error_in_a_stream_of_openai_is_typed) {
  auto reader = openai_reader("m");
  try {
    reader->take({"", R"({"error":{"message":"The server had an error","type":"server_error",
      "param":null,"code":null}})",
                  ""});
    BOOST_FAIL("no error");
  } catch (const model_error& e) {
    BOOST_TEST(e.type() == "InternalServerError");
    BOOST_TEST(e.kind() == "server_error");
    BOOST_TEST(e.may_try_again());
  }
}

BOOST_AUTO_TEST_CASE(events_of_anthropic_that_nobody_knows_yet_are_let_pass) {
  auto reader = anthropic_reader("m", false);
  for (const auto* data :
       {R"({"type":"future_event"})", R"({"type":"message_start","message":{}})",
        R"({"type":"future_event","usage":{"input_tokens":9}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"future_delta"}})",
        R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"x"}})",
        R"({"type":"message_stop"})"})
    reader->take({"message", data, ""});
  BOOST_TEST(reader->is_complete());
  auto answer = reader->finish();
  BOOST_TEST((message_member(answer, "content") == value("x")));
  BOOST_TEST((message_member(answer, "usage")["input_tokens"] == value(0)));
}

// ---- whole answers --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_the_cache_read_and_wrote_is_part_of_the_input) {
  auto answer = anthropic_answer(shape_json("anthropic_message.json"), "m1");
  BOOST_TEST((message_member(answer, "content") == value("Ulm lies on the Danube.")));
  check_shape(message_member(answer, "usage"), R"({"input_tokens":2009,"output_tokens":9,
    "total_tokens":2018,"input_token_details":{"cache_read":1800,"cache_creation":0,
    "ephemeral_5m_input_tokens":188,"ephemeral_1h_input_tokens":0}})");
  BOOST_TEST(context_tokens(answer) == 2018);
  const auto& metadata = message_member(answer, "response_metadata");
  BOOST_TEST((metadata["stop_reason"] == value("end_turn")));
  BOOST_TEST((metadata["model_name"] == value("claude-sonnet-4-5")));
  BOOST_TEST(metadata["stop_sequence"].is_null());
}

BOOST_AUTO_TEST_CASE(an_answer_of_openai_has_all_counts_and_how_likely_it_was) {
  auto answer = openai_answer(shape_json("openai_message.json"), "m1");
  BOOST_TEST((message_member(answer, "content") == value("Ulm lies on the Danube.")));
  check_shape(message_member(answer, "usage"), R"({"input_tokens":1919,"output_tokens":10,
    "total_tokens":1929,"input_token_details":{"audio":3,"cache_read":1792},
    "output_token_details":{"audio":2,"reasoning":0}})");
  const auto& metadata = message_member(answer, "response_metadata");
  BOOST_TEST((metadata["finish_reason"] == value("stop")));
  BOOST_TEST((metadata["logprobs"]["content"][0]["token"] == value("Ulm")));
  BOOST_TEST((metadata["model_name"] == value("gpt-5.1-2025-11-13")));
}

// ---- requests -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(pictures_documents_cache_marks_and_built_in_tools_are_sent_as_documented) {
  auto mark = value{{"type", "ephemeral"}};
  auto source = [](const char* type, std::initializer_list<value::map_init> members) {
    auto inner = value::map(members);
    return value::map({{"type", type}, {"source", inner}});
  };
  auto asked = model_request{value::list(
    {system_message(
       value::list({text_block("You describe pictures.").with("cache_control", mark)})),
     human_message(value::list(
       {text_block("Image 1:"), image_block("/9j/4AAQ", "image/jpeg"), text_block("Image 2:"),
        image_url_block("https://example.org/ant.jpg"),
        source("image", {{"type", "file"}, {"file_id", "file_01F"}}),
        source("document",
               {{"type", "base64"}, {"media_type", "application/pdf"}, {"data", "JVBERi0="}})
          .with("cache_control", mark),
        text_block("How do they differ?")}))})};
  asked.tools =
    value::list({memory_tool(make_store_memory(make_memory_store(), {"m"})).definition(),
                 value{{"type", "web_search_20250305"}, {"name", "web_search"}, {"max_uses", 5}}});
  auto body = anthropic_request("claude", {.max_tokens = 1024}, asked, false);
  BOOST_TEST(to_json(body) == to_json(shape_json("anthropic_vision_request.json")));
}

BOOST_AUTO_TEST_CASE(standard_blocks_go_to_each_provider_in_its_own_form) {
  auto blocks = from_json(R"([
    {"type":"file","base64":"JVBE","mime_type":"application/pdf","extras":{"filename":"a.pdf"}},
    {"type":"file","file_id":"f1"},
    {"type":"text-plain","text":"plain","mime_type":"text/plain","title":"T"},
    {"type":"image","base64":"QUJD","mime_type":"image/png"},
    {"type":"audio","base64":"UklG","mime_type":"audio/mpeg"}])",
                          json_form::plain)
                  .value();
  auto thought = from_json(R"([{"type":"reasoning","reasoning":"r","extras":{"signature":"s"}},
    {"type":"reasoning","reasoning":"unsigned"},{"type":"text","text":"so"}])",
                           json_form::plain)
                   .value();
  auto asked =
    model_request{value::list({human_message(blocks), ai_message(thought), human_message("?")})};
  auto to_openai_form = openai_request("gpt", {}, asked, false, true)["messages"];
  check_shape(to_openai_form[0]["content"], R"([
    {"type":"file","file":{"file_data":"data:application/pdf;base64,JVBE","filename":"a.pdf"}},
    {"type":"file","file":{"file_id":"f1"}},
    {"type":"text","text":"plain"},
    {"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},
    {"type":"input_audio","input_audio":{"data":"UklG","format":"mp3"}}])");
  check_shape(to_openai_form[1]["content"], R"("so")");
  asked.messages = value::list({human_message(value::list(std::vector<value>(
                                  blocks.items().begin(), blocks.items().begin() + 4))),
                                ai_message(thought), human_message("?")});
  auto to_anthropic_form = anthropic_request("claude", {}, asked, false)["messages"];
  check_shape(to_anthropic_form[0]["content"], R"([
    {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}},
    {"type":"document","source":{"type":"file","file_id":"f1"}},
    {"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain"},"title":"T"},
    {"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}])");
  check_shape(to_anthropic_form[1]["content"], R"([
    {"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"so"}])");
}

BOOST_AUTO_TEST_CASE(a_system_message_is_a_developer_s_for_models_that_reason) {
  auto asked = model_request{value::list({system_message("s"), human_message("hi")})};
  auto role = [&](const char* model) {
    return text_in(openai_request(model, {}, asked, false, true)["messages"][0]["role"]);
  };
  BOOST_TEST(role("o3-mini") == "developer");
  BOOST_TEST(role("gpt-5.1") == "system");
  BOOST_TEST(role("o") == "system");
  BOOST_TEST(role("olmo") == "system");
}

BOOST_AUTO_TEST_CASE(the_memory_tool_is_a_function_for_openai) {
  auto asked = model_request{value::list({human_message("hi")})};
  asked.tools =
    value::list({memory_tool(make_store_memory(make_memory_store(), {"m"})).definition()});
  auto tool = openai_request("gpt", {}, asked, false, true)["tools"][0];
  BOOST_TEST((tool["type"] == value("function")));
  BOOST_TEST((tool["function"]["name"] == value("memory")));
  BOOST_TEST(tool["function"]["parameters"]["properties"].contains("command"));
}

// ---- errors ---------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(refusals_become_errors_of_their_class,
                     data::make({"anthropic_errors.json", "openai_errors.json"}), file) {
  auto rows = shape_json(file);
  for (const auto& row : rows.items()) {
    BOOST_TEST_CONTEXT(to_json(row)) {
      http_head head;
      head.status = static_cast<int>(row["status"].as_int());
      for (const auto& e : row["headers"].entries())
        head.headers.emplace_back(std::string{e.key()}, text_in(e.val));
      const auto& body = row["body"];
      auto failed = refused_by_status(head, body.is_string() ? text_in(body) : to_json(body), {});
      BOOST_TEST(failed.type() == text_in(row["type"]));
      BOOST_TEST(to_string(failed.code()) == text_in(row["code"]));
      BOOST_TEST(failed.kind() == text_in(row["kind"]));
      BOOST_TEST(failed.may_try_again() == (row["again"] == value(true)));
      BOOST_TEST(failed.status() == head.status);
      auto after = failed.retry_after().value_or(std::chrono::milliseconds{0}).count();
      BOOST_TEST(after == (row["after_ms"].is_int() ? row["after_ms"].as_int() : 0));
      BOOST_TEST(failed.message() == text_in(body.is_string() ? body : body["error"]["message"]));
      auto id = head.header("request-id").empty() ? head.header("x-request-id")
                                                  : head.header("request-id");
      BOOST_TEST(failed.request_id() == id);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_error_in_a_stream_may_say_its_status_as_a_number) {
  for (const auto* text : {R"({"error":{"code":429,"message":"slow down"},"choices":[]})",
                           R"({"error":{"status_code":429,"code":"x","message":"slow down"}})"}) {
    auto reader = openai_reader("m");
    BOOST_CHECK_EXCEPTION(reader->take({"", text, ""}), model_error, [](const model_error& e) {
      return e.type() == "RateLimitError" && e.may_try_again();
    });
  }
  BOOST_TEST(
    refused_by_event(from_json(R"({"error":{"code":99999999999}})", json_form::plain).value())
      .type()
    == "APIStatusError");
}

BOOST_AUTO_TEST_CASE(a_request_s_id_stands_in_a_header_or_in_the_body) {
  http_head head;
  head.status = 404;
  constexpr const char* body = R"({"error":{"message":"m"},"request_id":"r2"})";
  BOOST_TEST(refused_by_status(head, body, {}).request_id() == "r2");
  head.headers = {{"x-request-id", "r1"}};
  BOOST_TEST(refused_by_status(head, body, {}).request_id() == "r1");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
