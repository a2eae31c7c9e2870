// The parts in which scripted models give their answers.
#include "tests/conformance/model_book.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::conformance {
namespace {

std::vector<value> parts(const char* answer) {
  world w{""};
  scope s{w};
  return parts_of(*evaluate(script_json::parse(answer), s).as_message());
}

std::vector<std::string> contents(const std::vector<value>& parts) {
  std::vector<std::string> out;
  for (const auto& part : parts)
    out.emplace_back(part.payload()["content"].as_string());
  return out;
}

BOOST_AUTO_TEST_SUITE(conformance_model_book)

BOOST_AUTO_TEST_CASE(an_answer_is_cut_into_words_with_the_white_space_behind_them) {
  auto all = parts(R"({"$msg": {"role": "assistant", "content": " \nwell  then\n", "id": "a",
    "usage": {"total_tokens": 3}}})");
  BOOST_TEST(contents(all) == (std::vector<std::string>{" \n", "well  ", "then\n"}),
             boost::test_tools::per_element());
  BOOST_TEST(all[0].payload()["id"] == value("a"));
  BOOST_TEST(all[0].payload()["chunk"] == value(true));
  BOOST_TEST(all[1].payload()["usage"].is_null());
  BOOST_TEST(all[2].payload()["usage"]["total_tokens"] == value(3));
}

BOOST_AUTO_TEST_CASE(tool_calls_are_parts_behind_the_words) {
  auto all = parts(R"({"$msg": {"role": "assistant", "content": "go", "id": "a", "tool_calls": [
    {"name": "f", "args": {"y": 1, "x": [2]}, "id": "c1"}, {"name": "g", "args": {}, "id": "c2"}]}})");
  BOOST_TEST(contents(all) == (std::vector<std::string>{"go", "", ""}),
             boost::test_tools::per_element());
  const auto& first = all[1].payload()["tool_call_chunks"][0];
  BOOST_TEST(first["args"] == value(R"({"y": 1, "x": [2]})"));
  BOOST_TEST(first["index"] == value(0));
  const auto& second = all[2].payload()["tool_call_chunks"][0];
  BOOST_TEST(second["name"] == value("g"));
  BOOST_TEST(second["index"] == value(1));
}

BOOST_AUTO_TEST_CASE(an_empty_answer_is_one_empty_part) {
  auto all = parts(R"({"$msg": {"role": "assistant", "content": "", "id": "a"}})");
  BOOST_TEST(contents(all) == std::vector<std::string>{""}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::conformance
