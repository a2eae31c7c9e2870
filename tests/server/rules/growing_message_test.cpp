// Messages while they come.
#include "server/rules/growing_message.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::server::test {
namespace {

value said(const char* members) {
  auto given = from_json(members, json_form::plain).value();
  return value::extension(value_kind::message, given.with("role", "assistant").with("id", "m"));
}

value piece_said(const char* members) {
  return value::extension(value_kind::message, said(members).payload().with("chunk", true));
}

std::string calls_of(const growing_message& message, const char* which = "tool_calls") {
  std::string out;
  auto form = message.form();
  for (const auto& one : form[which].items())
    out += to_json(one["name"]) + to_json(one["args"]) + ' ';
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_growing_message)

BOOST_AUTO_TEST_CASE(texts_are_joined_and_counts_summed) {
  growing_message message;
  message.add(piece_said(R"({"content":"Hel"})"));
  message.add(piece_said(
    R"({"content":"lo","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}})"));
  message.add(
    piece_said(R"({"content":"","usage":{"input_tokens":0,"output_tokens":3,"total_tokens":3}})"));
  auto form = message.form();
  BOOST_TEST(form["type"] == value("ai"));
  BOOST_TEST(form["content"] == value("Hello"));
  BOOST_TEST(form["usage_metadata"]["total_tokens"] == value(5));
  BOOST_TEST(!form.contains("tool_call_chunks"));
  BOOST_TEST(!form.contains("chunk_position"));
}

BOOST_AUTO_TEST_CASE(a_call_has_the_arguments_that_can_be_read_so_far) {
  growing_message message;
  auto add = [&message](const std::string& text, const char* more = "") {
    auto args = to_json(value(text));
    message.add(piece_said(
      (R"({"content":"","tool_call_chunks":[{"index":0,"args":)" + args + more + "}]}").c_str()));
    return calls_of(message);
  };
  BOOST_TEST(add("", R"(,"name":"weather","id":"c")") == R"("weather"{} )");
  BOOST_TEST(add("{\"city\":") == R"("weather"{} )");
  BOOST_TEST(add(" \"Ro") == R"("weather"{"city":"Ro"} )");
  BOOST_TEST(add("me\"}") == R"("weather"{"city":"Rome"} )");
  BOOST_TEST(calls_of(message, "invalid_tool_calls") == "");
}

BOOST_AUTO_TEST_CASE(a_call_whose_text_is_no_map_is_invalid) {
  growing_message message;
  message.add(piece_said(
    R"({"content":"","tool_call_chunks":[{"index":0,"name":"f","id":"c","args":"[1]"}]})"));
  BOOST_TEST(calls_of(message) == "");
  BOOST_TEST(calls_of(message, "invalid_tool_calls") == R"("f""[1]" )");
}

BOOST_AUTO_TEST_CASE(a_whole_message_takes_the_place_of_its_pieces) {
  growing_message message;
  message.add(piece_said(R"({"content":"Hel"})"));
  message.add(said(R"({"content":"Bye"})"));
  BOOST_TEST(message.form()["content"] == value("Bye"));
  BOOST_TEST(is_piece(piece_said("{}")));
  BOOST_TEST((!is_piece(said("{}")) && !is_piece(value{})));
}

BOOST_AUTO_TEST_CASE(pieces_that_do_not_fit_each_other_do_no_harm) {
  growing_message message;
  message.add(piece_said(R"({"content":"a","additional_kwargs":{"x":"1"}})"));
  message.add(piece_said(R"({"content":"b","additional_kwargs":{"x":[1]}})"));
  BOOST_TEST(message.form()["content"] == value("b"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
