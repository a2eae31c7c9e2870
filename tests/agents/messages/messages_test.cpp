// Messages: making them, their JSON forms, their parts.
#include <troupe/agents/messages.hpp>
#include <troupe/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

namespace troupe {
namespace {

value parsed(std::string_view text) {
  return from_json(text).value();
}

value chunk(const char* members) {
  return value::extension(value_kind::message,
                          parsed(members).with("role", "assistant").with("chunk", true));
}

value usage_of(std::int64_t in, std::int64_t out) {
  return value::map({{"input_tokens", in}, {"output_tokens", out}, {"total_tokens", in + out}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_messages)

// ---- JSON -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_answer_with_calls_has_every_key_of_its_class) {
  auto m = ai_message("x", {{.name = "f", .args = value{{"a", 1}}, .id = "c"}}, "2");
  m = value::extension(value_kind::message, m.payload().with("usage", usage_of(1, 2)));
  BOOST_TEST(to_json(message_to_json(m)) == to_json(parsed(R"({
    "content":"x","additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":"2",
    "tool_calls":[{"name":"f","args":{"a":1},"id":"c","type":"tool_call"}],
    "invalid_tool_calls":[],
    "usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3}})")));
}

BOOST_AUTO_TEST_CASE(every_message_comes_back_from_its_json_as_it_was) {
  auto full = ai_message("hi", {{.name = "f", .id = "c"}}, "1");
  full = value::extension(value_kind::message,
                          full.payload()
                            .with("usage", usage_of(3, 4))
                            .with("invalid_tool_calls",
                                  parsed(R"([{"name":"g","args":"{","id":"d","error":null,
                                              "type":"invalid_tool_call"}])")));
  for (const auto& m :
       {human_message("a"), system_message("b", "7"), full, tool_message("r", "c", "f", "error"),
        tool_message("r", "c"), remove_message("9"),
        human_message(value::list({text_block("x"), image_url_block("http://x/y.png")}))})
    BOOST_TEST(message_from_json(message_to_json(m)) == m);
}

BOOST_AUTO_TEST_CASE(envelopes_and_constructor_forms_are_read) {
  auto expected = ai_message("hi");
  BOOST_TEST(message_from_json(parsed(R"({"type":"ai","data":{"content":"hi"}})")) == expected);
  BOOST_TEST(message_from_json(parsed(R"({"lc":1,"type":"constructor","id":["langchain","schema",
    "messages","AIMessage"],"kwargs":{"content":"hi"}})"))
             == expected);
  BOOST_TEST(message_from_json(parsed(R"({"role":"assistant","content":"hi"})")) == expected);
}

BOOST_AUTO_TEST_CASE(whether_a_message_is_an_example_is_kept_where_it_is_one) {
  for (const auto* name : {"role", "type"}) {
    auto read = [name](const std::string& is_one) {
      return message_from_json(parsed(R"({")" + std::string{name}
                                      + R"(":"human","content":"hi","example":)" + is_one + "}"));
    };
    BOOST_TEST(message_member(read("true"), "example") == value(true));
    BOOST_TEST(message_member(read("false"), "example").is_null());
    BOOST_TEST(message_from_json(message_to_json(read("true"))) == read("true"));
  }
}

BOOST_AUTO_TEST_CASE(calls_that_only_openai_s_form_holds_are_read_and_broken_ones_are_invalid) {
  auto m = message_from_json(parsed(R"({"type":"ai","content":"","additional_kwargs":{"tool_calls":[
    {"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},
    {"id":"b","function":{"name":"g","arguments":"{"}},
    {"id":"c"}]}})"));
  BOOST_TEST(message_tool_calls(m).size() == 1);
  BOOST_TEST(message_tool_calls(m)[0]["args"]["x"] == value(1));
  BOOST_TEST(message_member(m, "invalid_tool_calls")[0]["args"] == value("{"));
}

BOOST_AUTO_TEST_CASE(arguments_that_are_no_object_are_refused) {
  BOOST_CHECK_EXCEPTION(
    message_from_json(
      parsed(R"({"type":"ai","content":"","tool_calls":[{"name":"f","args":"{}","id":"1"}]})")),
    error, [](const error& e) { return reference_name(e) == "ValueError"; });
}

BOOST_AUTO_TEST_CASE(a_conversation_in_openai_s_form_has_calls_and_results_of_their_own) {
  auto messages = value::list(
    {human_message(value::list({text_block("a"), text_block("b")})),
     ai_message(value::list({thinking_block("hm"), tool_use_block({.name = "f", .id = "c"})})),
     human_message(value::list({tool_result_block("c", "r")})),
     human_message(value::list({image_block("QUJD", "image/png")}))});
  BOOST_TEST(to_json(messages_to_openai(messages)) == to_json(parsed(R"([
    {"role":"user","content":"a\nb"},
    {"role":"assistant","content":"","tool_calls":[
      {"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c","content":"r"},
    {"role":"user","content":[
      {"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}])")));
}

BOOST_AUTO_TEST_CASE(a_channel_may_keep_content_in_openai_s_form_and_ids_as_they_are) {
  auto channel = add_messages_as_openai();
  auto written = value::list(
    {ai_message(value::list({text_block("x"), tool_use_block({.name = "f", .id = "c"})}), {}, "a"),
     human_message(value::list({tool_result_block("c", "r"), image_url_block("http://x/y")}), "b"),
     value("plain")});
  auto kept = (*channel.op)(value::list(), written);
  BOOST_REQUIRE(kept.size() == 4);
  BOOST_TEST(message_member(kept[0], "id") == value("a"));
  BOOST_TEST(message_tool_calls(kept[0])[0]["name"] == value("f"));
  BOOST_TEST(message_role(kept[1]) == "tool");
  BOOST_TEST(message_member(kept[2], "id") == value("b"));
  BOOST_TEST(message_member(kept[2], "content")[0]["type"] == value("image_url"));
  BOOST_TEST((*channel.op)(kept, remove_message("b")).size() == 3u);
}

BOOST_AUTO_TEST_CASE(content_in_openai_s_form_has_no_cache_marks_and_text_alone_is_one_text) {
  auto channel = add_messages_as_openai();
  auto marked = [](const char* text) {
    return text_block(text).with("cache_control", value{{"type", "ephemeral"}});
  };
  auto shown = value::list({image_block("QUJD", "image/png")});
  auto written = value::list(
    {human_message(value::list({marked("a"), text_block("b")}), "1"),
     human_message(value::list({marked("this"), image_block("QUJD", "image/png")}), "2"),
     ai_message(value::list({tool_use_block({.name = "f", .id = "c"})}), {}, "3"),
     human_message(value::list({tool_result_block("c", shown)}), "4")});
  auto kept = (*channel.op)(value::list(), written);
  BOOST_REQUIRE(kept.size() == 4u);
  const auto picture = R"({"image_url":{"url":"data:image/png;base64,QUJD"},"type":"image_url"})";
  BOOST_TEST((message_member(kept[0], "content") == value("a\nb")));
  BOOST_TEST(to_json(message_member(kept[1], "content"))
             == R"([{"text":"this","type":"text"},)" + std::string{picture} + "]");
  BOOST_TEST((message_member(kept[2], "content") == value("")));
  BOOST_TEST((message_tool_calls(kept[2])[0]["args"] == value::map()));
  BOOST_TEST(message_role(kept[3]) == "tool");
  BOOST_TEST(to_json(message_member(kept[3], "content")) == "[" + std::string{picture} + "]");
}

// ---- parts ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(parts_of_a_text_become_one_text) {
  std::vector<value> parts{chunk(R"({"content":"a ","id":"lc_run--1"})"),
                           chunk(R"({"content":"b","id":"lc_run--1"})"),
                           chunk(R"({"content":"","id":"m7","usage":{"input_tokens":1}})"),
                           chunk(R"({"content":"","usage":{"input_tokens":2}})")};
  BOOST_TEST(
    join_chunks(parts)
    == value::extension(
      value_kind::message,
      parsed(R"({"role":"assistant","content":"a b","id":"m7","usage":{"input_tokens":3}})")));
}

BOOST_AUTO_TEST_CASE(content_of_texts_and_lists_adds_up) {
  std::vector<value> parts{chunk(R"({"content":"a"})"),
                           chunk(R"({"content":[{"type":"text","text":"b","index":0}]})"),
                           chunk(R"({"content":[{"type":"text","text":"c","index":0}]})"),
                           chunk(R"({"content":"d"})")};
  BOOST_TEST(message_member(join_chunks(parts), "content")
             == parsed(R"(["a",{"type":"text","text":"bc","index":0},"d"])"));
}

BOOST_AUTO_TEST_CASE(parts_of_calls_are_joined_by_index_and_read_at_the_end) {
  std::vector<value> parts{
    chunk(R"({"content":"","tool_call_chunks":[{"index":0,"id":"a","name":"f","args":"{\"x\""}]})"),
    chunk(R"({"content":"","tool_call_chunks":[{"index":0,"id":null,"name":null,"args":": 1}"}]})"),
    chunk(R"({"content":"","tool_call_chunks":[{"index":0,"id":"b","name":"g","args":"[1]"}]})"),
    chunk(R"({"content":"","tool_call_chunks":[{"index":1,"id":"c","name":"h","args":""}]})")};
  auto m = join_chunks(parts);
  BOOST_TEST(message_tool_calls(m) == parsed(R"([
    {"type":"tool_call","id":"a","name":"f","args":{"x":1}},
    {"type":"tool_call","id":"c","name":"h","args":{}}])"));
  BOOST_TEST(message_member(m, "invalid_tool_calls")[0]["name"] == value("g"));
  BOOST_TEST(message_member(m, "tool_call_chunks").is_null());
}

BOOST_AUTO_TEST_CASE(metadata_of_two_types_is_refused) {
  auto left = chunk(R"({"content":"","additional_kwargs":{"k":1}})");
  auto right = chunk(R"({"content":"","additional_kwargs":{"k":"1"}})");
  BOOST_CHECK_EXCEPTION(add_chunks(left, right), error,
                        [](const error& e) { return reference_name(e) == "TypeError"; });
}

BOOST_AUTO_TEST_CASE(parts_of_what_a_tool_said_are_of_one_call_and_one_error_makes_it_one) {
  auto part = [](const char* members) {
    return value::extension(value_kind::message,
                            parsed(members).with("role", "tool").with("chunk", true));
  };
  auto sum =
    add_chunks(part(R"({"content":"a","tool_call_id":"c","status":"error","artifact":{"x":[1]}})"),
               part(R"({"content":"b","tool_call_id":"c","artifact":{"x":[2],"y":"z"}})"));
  BOOST_TEST((message_member(sum, "content") == value("ab")));
  BOOST_TEST((message_member(sum, "status") == value("error")));
  BOOST_TEST((message_member(sum, "artifact") == parsed(R"({"x":[1,2],"y":"z"})")));
  BOOST_CHECK_EXCEPTION(add_chunks(part(R"({"content":"a","tool_call_id":"c"})"),
                                   part(R"({"content":"a","tool_call_id":"d"})")),
                        error, [](const error& e) {
                          return e.message().find("different names") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(json_that_was_cut_off_is_read_as_far_as_it_goes) {
  auto shown = [](std::string_view text) {
    auto v = parse_partial_json(text);
    return v ? to_json(*v) : "none";
  };
  BOOST_TEST(shown(R"({"a": 1, "b)") == R"({"a":1})");
  BOOST_TEST(shown(R"({"a": tru)") == "{}");
  BOOST_TEST(shown(R"({"a": [1, {"b": "x)") == R"({"a":[1,{"b":"x"}]})");
  BOOST_TEST(shown(R"({"a": 1.)") == R"({"a":1})");
  BOOST_TEST(shown(R"({"a": 1,)") == R"({"a":1})");
  BOOST_TEST(shown(R"({"a":1}})") == "none");
  BOOST_TEST(shown("nonsense") == "none");
  BOOST_TEST(shown("{\"a\": \"x\ny\\") == R"({"a":"x\ny"})");
}

BOOST_AUTO_TEST_CASE(so_many_characters_are_dropped_from_cut_json_and_no_more) {
  auto cut = [](std::size_t n) { return R"({"a": 1,)" + std::string(n, 'b'); };
  BOOST_TEST(parse_partial_json(cut(limits::partial_json_dropped_max - 1)).has_value());
  BOOST_TEST(!parse_partial_json(cut(limits::partial_json_dropped_max)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
