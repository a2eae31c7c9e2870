// The content of messages as standard blocks, and which tool calls are accepted.
#include <troupe/agents/messages.hpp>
#include <troupe/channel.hpp>
#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;

value block_json(const std::string& text) {
  return from_json(text, json_form::plain).value();
}

std::string shown_blocks(const value& message) {
  return to_json(content_blocks(message));
}

std::string normal(const std::string& json) {
  return to_json(block_json(json));
}

struct block_row {
  const char* name;
  const char* given;
  const char* standard;
};
std::ostream& operator<<(std::ostream& out, const block_row& row) {
  return out << row.name;
}

const std::vector<block_row> block_rows{
  {"a text", R"("hi")", R"({"type":"text","text":"hi"})"},
  {"a standard block", R"({"type":"reasoning","reasoning":"r","index":3})",
   R"({"type":"reasoning","reasoning":"r","index":3})"},
  {"a picture at an address", R"({"type":"image_url","image_url":{"url":"https://x/y.png"}})",
   R"({"type":"image","url":"https://x/y.png"})"},
  {"a picture at an address alone", R"({"type":"image_url","image_url":"https://x/y.png"})",
   R"({"type":"image","url":"https://x/y.png"})"},
  {"a picture in an address",
   R"({"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG","detail":"low"}})",
   R"({"type":"image","base64":"R0lG","mime_type":"image/gif","extras":{"detail":"low"}})"},
  {"a sound", R"({"type":"input_audio","input_audio":{"data":"UklG","format":"mp3"}})",
   R"({"type":"audio","base64":"UklG","mime_type":"audio/mp3"})"},
  {"a file",
   R"({"type":"file","file":{"file_data":"data:application/pdf;base64,JVBE","filename":"a.pdf"}})",
   R"({"type":"file","base64":"JVBE","mime_type":"application/pdf","extras":{"filename":"a.pdf"}})"},
  {"a file by its id", R"({"type":"file","file":{"file_id":"file-1"}})",
   R"({"type":"file","file_id":"file-1"})"},
  {"Anthropic's picture",
   R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"},
       "cache_control":{"type":"ephemeral"}})",
   R"({"type":"image","base64":"QUJD","mime_type":"image/png",
       "extras":{"cache_control":{"type":"ephemeral"}}})"},
  {"Anthropic's picture at an address",
   R"({"type":"image","source":{"type":"url","url":"https://x/y.png"}})",
   R"({"type":"image","url":"https://x/y.png"})"},
  {"Anthropic's picture by its id", R"({"type":"image","source":{"type":"file","file_id":"f1"}})",
   R"({"type":"image","file_id":"f1"})"},
  {"Anthropic's document",
   R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}})",
   R"({"type":"file","base64":"JVBE","mime_type":"application/pdf"})"},
  {"Anthropic's document of text",
   R"({"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"d"}})",
   R"({"type":"text-plain","text":"d","mime_type":"text/plain","title":"T"})"},
  {"LangChain's older picture",
   R"({"type":"image","source_type":"base64","data":"QUJD","mime_type":"image/png"})",
   R"({"type":"image","base64":"QUJD","mime_type":"image/png"})"},
  {"LangChain's older file by its id", R"({"type":"file","source_type":"id","id":"f1"})",
   R"({"type":"file","file_id":"f1"})"},
  {"a signed thought", R"({"type":"thinking","thinking":"t","signature":"s","index":0})",
   R"({"type":"reasoning","reasoning":"t","index":0,"extras":{"signature":"s"}})"},
  {"a call", R"({"type":"tool_use","id":"c","name":"f","input":{"a":1}})",
   R"({"type":"tool_call","id":"c","name":"f","args":{"a":1}})"},
  {"a call of a provider's own tool",
   R"({"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}})",
   R"({"type":"server_tool_call","id":"s","name":"web_search","args":{"query":"q"}})"},
  {"its result", R"({"type":"web_search_tool_result","tool_use_id":"s","content":[{"title":"t"}]})",
   R"({"type":"server_tool_result","tool_call_id":"s","status":"success","output":[{"title":"t"}],
       "extras":{"block_type":"web_search_tool_result"}})"},
  {"its failure",
   R"({"type":"web_search_tool_result","tool_use_id":"s",
       "content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}})",
   R"({"type":"server_tool_result","tool_call_id":"s","status":"error",
       "output":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"},
       "extras":{"block_type":"web_search_tool_result"}})"},
  {"a call of a tool on a server",
   R"({"type":"mcp_tool_use","id":"m","name":"ask","server_name":"wiki","input":{"q":1}})",
   R"({"type":"server_tool_call","id":"m","name":"remote_mcp","args":{"q":1},
       "extras":{"server_name":"wiki","tool_name":"ask"}})"},
  {"a program that the provider runs, as it was streamed",
   R"({"type":"server_tool_use","id":"s","name":"code_execution","input":{},"index":2,
       "partial_json":"{\"code\": \"1\"}"})",
   R"({"type":"server_tool_call","id":"s","name":"code_interpreter","args":{"code":"1"},"index":2})"},
  {"an input that was cut off",
   R"({"type":"server_tool_use","id":"s","name":"f","input":{},"partial_json":"{\"co"})",
   R"({"type":"server_tool_call","id":"s","name":"f","args":{}})"},
  {"a call with its caller",
   R"({"type":"tool_use","id":"c","name":"f","input":{},"caller":{"type":"direct"}})",
   R"({"type":"tool_call","id":"c","name":"f","args":{},"extras":{"caller":{"type":"direct"}}})"},
  {"a text without sources", R"({"type":"text","text":"x","citations":[]})",
   R"({"type":"text","text":"x"})"},
  {"a source that names nothing",
   R"({"type":"text","text":"x","citations":[
       {"type":"web_search_result_location","cited_text":"y"}]})",
   R"({"type":"text","text":"x","annotations":[{"type":"non_standard_annotation",
       "value":{"type":"web_search_result_location","cited_text":"y"}}]})"},
  {"what nobody knows, with its number", R"({"type":"compaction","content":"c","index":1})",
   R"({"type":"non_standard","value":{"type":"compaction","content":"c"},"index":1})"},
  {"a text with its sources",
   R"({"type":"text","text":"x","citations":[
       {"type":"char_location","cited_text":"y","document_title":"D","start_char_index":1}]})",
   R"({"type":"text","text":"x","annotations":[
       {"type":"citation","cited_text":"y","title":"D","extras":{"start_char_index":1}}]})"},
  {"what nobody knows", R"({"type":"redacted_thinking","data":"x"})",
   R"({"type":"non_standard","value":{"type":"redacted_thinking","data":"x"}})"},
  {"no block at all", R"({"a":1})", R"({"type":"non_standard","value":{"a":1}})"},
  {"a broken picture", R"({"type":"image_url","image_url":{"detail":"low"}})",
   R"({"type":"non_standard","value":{"type":"image_url","image_url":{"detail":"low"}}})"},
};

bool is_refused(const std::function<void()>& action) {
  try {
    action();
  } catch (const error& e) {
    BOOST_TEST((e.code() == errc::invalid_update));
    BOOST_TEST(e.type() == "ValueError");
    return true;
  }
  return false;
}

value answer_with_calls(const std::string& calls) {
  return block_json(R"({"content":"","tool_calls":)" + calls + "}");
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_content)

// ---- blocks ---------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(blocks_of_every_provider_have_one_form, data::make(block_rows), row) {
  auto message = human_message(value::list({block_json(row.given)}));
  BOOST_TEST(shown_blocks(message) == normal(std::string{"["} + row.standard + "]"));
}

BOOST_AUTO_TEST_CASE(a_text_is_one_block_and_no_text_is_none) {
  BOOST_TEST(shown_blocks(human_message("hi")) == normal(R"([{"type":"text","text":"hi"}])"));
  BOOST_TEST(shown_blocks(human_message("")) == "[]");
  BOOST_TEST(shown_blocks(value("no message")) == "[]");
}

BOOST_AUTO_TEST_CASE(an_answer_has_its_thoughts_first_and_calls_that_no_block_is_last) {
  auto content = value::list({tool_use_block({.name = "f", .id = "c1"}), text_block("so")});
  auto answer = ai_message(content, {{.name = "f", .id = "c1"}, {.name = "g", .id = "c2"}});
  answer = value::extension(value_kind::message,
                            answer.payload().with("additional_kwargs",
                                                  value{{"reasoning_content", "hm"}}));
  BOOST_TEST(shown_blocks(answer) == normal(R"([
    {"type":"reasoning","reasoning":"hm"},
    {"type":"tool_call","id":"c1","name":"f","args":{}},
    {"type":"text","text":"so"},
    {"type":"tool_call","id":"c2","name":"g","args":{}}])"));
}

BOOST_AUTO_TEST_CASE(a_call_in_a_block_is_shown_as_the_message_says_now) {
  auto content = value::list({tool_use_block({.name = "f", .args = value{{"a", 1}}, .id = "c"})});
  auto answer = ai_message(content, {{.name = "f", .args = value{{"a", 2}}, .id = "c"}});
  BOOST_TEST(shown_blocks(answer)
             == normal(R"([{"type":"tool_call","id":"c","name":"f","args":{"a":2}}])"));
}

BOOST_AUTO_TEST_CASE(what_a_provider_says_of_a_call_besides_comes_back_from_its_json) {
  auto given = block_json(R"({"type":"ai","content":"","tool_calls":[{"name":"f","args":{},
    "id":"c","type":"tool_call","extras":{"caller":{"type":"direct"}}}]})");
  auto message = message_from_json(message_to_json(message_from_json(given)));
  BOOST_TEST((message_tool_calls(message)[0] == given["tool_calls"][0]));
  BOOST_TEST(shown_blocks(message) == to_json(given["tool_calls"]));
}

BOOST_AUTO_TEST_CASE(a_part_of_an_answer_shows_its_pieces_of_calls) {
  auto part = message_from_json(block_json(
    R"({"type":"AIMessageChunk","content":"","tool_call_chunks":[
        {"type":"tool_call_chunk","name":"f","args":"{\"a","id":"c","index":0}]})"));
  BOOST_TEST(
    shown_blocks(part)
    == normal(R"([{"type":"tool_call_chunk","name":"f","args":"{\"a","id":"c","index":0}])"));
}

BOOST_AUTO_TEST_CASE(content_that_says_it_is_standard_is_believed) {
  auto given = block_json(R"([{"type":"thinking","thinking":"x"}])");
  auto answer = value::extension(value_kind::message,
                                 ai_message(given, {{.name = "f", .id = "c"}})
                                   .payload()
                                   .with("response_metadata", value{{"output_version", "v1"}}));
  BOOST_TEST((content_blocks(answer) == given));
}

// ---- calls ----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(calls_that_are_none_are_refused_in_every_form,
                     data::make({R"([{"name":"f","args":"{}","id":"1"}])",
                                 R"([{"name":"f","id":"1"}])", R"([{"args":{},"id":"1"}])",
                                 R"(["f"])", R"("f")", R"({"name":"f"})",
                                 R"([{"id":"1","function":{"name":"f","arguments":"{"}}])",
                                 R"([{"id":"1","function":{"name":"f","arguments":"[1]"}}])",
                                 R"([{"id":"1","function":{"arguments":"{}"}}])"}),
                     calls) {
  auto given = answer_with_calls(calls);
  BOOST_TEST(is_refused([&] { coerce_message(given.with("role", "assistant")); }));
  BOOST_TEST(is_refused([&] { coerce_message(given.with("type", "ai")); }));
  BOOST_TEST(is_refused([&] { message_from_json(given.with("type", "ai")); }));
  BOOST_TEST(is_refused([&] { message_from_json(given.with("role", "assistant")); }));
  BOOST_TEST(is_refused([&] { (*add_messages.op)(value::list(), given.with("role", "ai")); }));
}

BOOST_DATA_TEST_CASE(calls_are_taken_in_every_form,
                     data::make({R"([{"name":"f","args":{"a":1},"id":"1"}])",
                                 R"([{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}])",
                                 R"([{"id":"1","function":{"name":"f","arguments":{"a":1}}}])"}),
                     calls) {
  auto given = answer_with_calls(calls);
  for (const auto& message : {coerce_message(given.with("role", "assistant")),
                              message_from_json(given.with("type", "ai"))}) {
    const auto& call = message_tool_calls(message)[0];
    BOOST_TEST((call["name"] == value("f")));
    BOOST_TEST((call["args"] == value{{"a", 1}}));
    BOOST_TEST((call["id"] == value("1")));
  }
}

BOOST_AUTO_TEST_CASE(arguments_in_others_json_have_no_members_of_ours) {
  auto arguments = R"({"$bytes":"aGk="})";
  auto call =
    value::map({{"id", "1"}, {"function", value::map({{"name", "f"}, {"arguments", arguments}})}});
  auto expected = value::map({{"$bytes", "aGk="}});
  auto given = value::map({{"content", ""}, {"tool_calls", value::list({call})}});
  BOOST_TEST((message_tool_calls(coerce_message(given.with("role", "ai")))[0]["args"] == expected));
  auto hidden =
    value::map({{"type", "ai"},
                {"content", ""},
                {"additional_kwargs", value::map({{"tool_calls", value::list({call})}})}});
  BOOST_TEST((message_tool_calls(message_from_json(hidden))[0]["args"] == expected));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_kept_has_the_calls_that_are_whole_and_no_others) {
  auto part = message_from_json(block_json(R"({"type":"AIMessageChunk","content":"x","id":"1",
    "chunk_position":"last","tool_call_chunks":[
      {"name":"f","args":"{\"a\": 1}","id":"c","index":0},
      {"name":"g","args":"","id":"d","index":1},
      {"name":"h","args":"{\"a\": 1","id":"e","index":2}]})"));
  auto kept = (*add_messages.op)(value::list(), part)[0];
  BOOST_TEST(to_json(message_tool_calls(kept)) == normal(R"([
    {"name":"f","args":{"a":1},"id":"c","type":"tool_call"},
    {"name":"g","args":{},"id":"d","type":"tool_call"}])"));
  BOOST_TEST(to_json(message_member(kept, "invalid_tool_calls")) == normal(R"([
    {"name":"h","args":"{\"a\": 1","id":"e","type":"invalid_tool_call","error":null}])"));
  for (const auto* of_parts : {"chunk", "chunk_position", "tool_call_chunks"})
    BOOST_TEST(message_member(kept, of_parts).is_null());
}

BOOST_AUTO_TEST_CASE(a_call_that_was_cut_off_is_no_call_though_its_beginning_can_be_read) {
  auto part = message_from_json(block_json(R"({"type":"AIMessageChunk","content":"",
    "tool_call_chunks":[{"name":"f","args":"{\"a\": 1, \"b","id":"c","index":0},
                        {"name":"g","args":"{\"a\": \"x\ny\"}","id":"d","index":1}]})"));
  auto joined = join_chunks(std::vector<value>{part});
  BOOST_TEST(to_json(message_tool_calls(joined)) == normal(R"([
    {"name":"g","args":{"a":"x\ny"},"id":"d","type":"tool_call"}])")); // a raw line break is let
                                                                       // pass
  BOOST_TEST((message_member(joined, "invalid_tool_calls")[0]["args"] == value(R"({"a": 1, "b)")));
}

BOOST_AUTO_TEST_CASE(calls_of_a_part_that_came_as_a_whole_are_pieces_of_their_own) {
  auto part = message_from_json(block_json(R"({"type":"AIMessageChunk","content":"",
    "tool_calls":[{"name":"f","args":{"a":1},"id":"c"}],"tool_call_chunks":[]})"));
  std::vector<value> parts{part, part};
  auto joined = join_chunks(parts);
  BOOST_TEST(message_tool_calls(joined).size() == 2u); // without an index nothing is joined
  BOOST_TEST((message_tool_calls(joined)[1]["args"] == value{{"a", 1}}));
}

BOOST_AUTO_TEST_CASE(members_that_only_answers_have_are_kept_elsewhere_as_they_are) {
  auto given = block_json(R"({"role":"user","content":"x","more":[],"tool_calls":[]})");
  auto message = message_from_json(given);
  auto form = message_to_json(message);
  BOOST_TEST((message_to_json(message_from_json(form)) == form));
  BOOST_TEST(form.contains("more"));
}

BOOST_AUTO_TEST_CASE(what_a_tool_gave_is_text_or_blocks_in_every_form) {
  auto given = block_json(R"({"content":{"a":1},"tool_call_id":7})");
  for (const auto& message : {coerce_message(given.with("role", "tool")),
                              message_from_json(given.with("type", "tool"))}) {
    BOOST_TEST((message_member(message, "content") == value(R"({"a":1})")));
    BOOST_TEST((message_member(message, "tool_call_id") == value("7")));
  }
}

BOOST_AUTO_TEST_CASE(a_function_s_message_is_one_of_the_roles) {
  auto message = coerce_message(block_json(R"({"role":"function","name":"f","content":"3"})"));
  BOOST_TEST(message_role(message) == "function");
  BOOST_TEST((message_to_json(message)["type"] == value("function")));
}

// ---- a thread's messages --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_message_of_a_thread_is_edited_and_removed_by_its_id_from_outside) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("say", [](const state_view&, context&) -> value {
    return value{{"messages", value::list({ai_message("draft", {}, "a")})}};
  });
  g.add_edge(START, "say");
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(g.compile());
  run_config config;
  config.thread_id = "t";
  app.invoke(value{{"messages", value::list({human_message("hi", "h")})}}, config).value();
  app.update_state(config, state_update{{"messages", ai_message("edited", {}, "a")}}, "say");
  auto messages = app.get_state(config).values["messages"];
  BOOST_REQUIRE(messages.size() == 2u);
  BOOST_TEST(message_text(messages[1]) == "edited");
  app.update_state(config, state_update{{"messages", remove_message("h")}}, "say");
  messages = app.get_state(config).values["messages"];
  BOOST_REQUIRE(messages.size() == 1u);
  BOOST_TEST((message_member(messages[0], "id") == value("a")));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
