// Assistants as tools of MCP.
#include "server/protocol/mcp_tools.hpp"

#include <troupe/agents.hpp>
#include <troupe/troupe.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

compiled_graph graph_with(schema channels) {
  state_graph<> g{std::move(channels)};
  g.add_node("a", [] { return state_update{}; });
  g.add_edge(START, "a");
  return g.compile({.name = "g"});
}

assistant_and_graph named(const std::string& name, const std::string& id, value description = {}) {
  return {{.assistant_id = id, .name = name, .description = std::move(description)},
          graph_with({{"n", sum}})};
}

std::string name_of(const assistant_tool& tool) {
  return tool.definition["name"].as<std::string>();
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_mcp_tools)

BOOST_AUTO_TEST_CASE(a_tool_has_the_name_and_the_schema_of_its_assistant) {
  auto tools = tools_of({named("My plain", "1", "counts"), named("other", "2")});
  BOOST_TEST(name_of(tools[0]) == "My_plain");
  BOOST_TEST(tools[0].definition["title"] == value("My plain"));
  BOOST_TEST(tools[0].definition["description"] == value("counts"));
  BOOST_TEST(tools[0].definition["inputSchema"]["properties"].contains("n"));
  BOOST_TEST(!tools[0].definition.contains("outputSchema")); // results are texts
  BOOST_TEST(tools[1].definition["description"] == value("Tool based on the other assistant"));
}

BOOST_AUTO_TEST_CASE(names_of_tools_are_valid_and_differ) {
  auto tools = tools_of({named("a b", "11111111-1"), named("a.b", "22222222-2"),
                         named("a_b", "33333333-3"), named("a b", "33333333-4"),
                         named("", "55555555-5"), named(std::string(300, 'x'), "66666666-6"),
                         named(std::string(300, 'x'), "77777777-7"), named("ä", "88888888-8")});
  std::vector<std::string> names;
  for (const auto& one : tools)
    names.push_back(name_of(one));
  std::vector<std::string> expected{"a_b",
                                    "a.b",
                                    "a_b_33333333",
                                    "33333333-4",
                                    "assistant",
                                    std::string(100, 'x'),
                                    std::string(100, 'x') + "_77777777",
                                    "__"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_graph_of_messages_is_given_a_text) {
  auto tools =
    tools_of({{{.assistant_id = "1", .name = "chat"}, graph_with({{"messages", add_messages}})}});
  const auto& schema = tools[0].definition["inputSchema"];
  BOOST_TEST(schema["properties"]["messages"]["type"] == value("string"));
  BOOST_TEST(schema["required"] == value::list({"messages"}));
  BOOST_TEST(to_json(input_of_call(tools[0], value::map({{"messages", "hi"}})))
             == R"({"messages":[{"content":"hi","role":"user"}]})");
  auto list = value::map({{"messages", value::list({value::map({{"type", "human"}})})}});
  BOOST_TEST(input_of_call(tools[0], list) == list); // messages as they are
}

BOOST_AUTO_TEST_CASE(arguments_are_the_input_of_another_graph) {
  auto tools = tools_of({named("plain", "1")});
  auto arguments = value::map({{"n", 2}, {"messages", "mine"}});
  BOOST_TEST(input_of_call(tools[0], arguments) == arguments);
}

BOOST_AUTO_TEST_CASE(a_result_is_the_output_as_text_or_the_name_of_the_error) {
  BOOST_TEST(to_json(result_of_call(value::map({{"n", 3}})))
             == R"({"content":[{"text":"{'n': 3}","type":"text"}]})");
  auto failure = value::map({{"error", "ValueError"}, {"message", "boom"}});
  BOOST_TEST(to_json(result_of_call(value::map({{"__error__", failure}})))
             == R"({"content":[{"text":"ValueError","type":"text"}],"isError":true})");
  BOOST_TEST(result_of_call({})["isError"] == value(true)); // it was cancelled before any state
}

struct output_case {
  std::vector<std::pair<const char*, const char*>> events;
  const char* output;
};
std::ostream& operator<<(std::ostream& out, const output_case& c) {
  return out << c.output;
}
const std::vector<output_case> outputs{
  {{}, "null"},
  {{{"metadata", "{}"}, {"values", R"({"n":1})"}, {"values", R"({"n":2})"}}, R"({"n":2})"},
  {{{"values", R"({"n":1})"}, {"values|inner:1", R"({"n":9})"}, {"updates", "{}"}}, R"({"n":1})"},
  {{{"values", R"({"n":1})"}, {"error", R"({"error":"E","message":"m"})"}},
   R"({"__error__":{"error":"E","message":"m"}})"},
  {{{"values", R"({"__interrupt__":[{"id":"1"}]})"}}, R"({"__interrupt__":[{"id":"1"}]})"},
  {{{"values", R"({"n":1})"},
    {"values", R"({"__interrupt__":[{"id":"1"}],"n":1})"},
    {"values", R"({"__interrupt__":[{"id":"2"}]})"},
    {"values", R"({"__interrupt__":[{"id":"2"}]})"}},
   R"({"__interrupt__":[{"id":"1"},{"id":"2"}],"n":1})"},
  {{{"values", R"({"a":"\"__interrupt__\":"})"}}, R"({"a":"\"__interrupt__\":"})"}};

BOOST_DATA_TEST_CASE(an_output_is_the_last_state_with_all_questions, data::make(outputs), one) {
  output_of_events output;
  for (const auto& [name, json] : one.events)
    output.take({0, name, json});
  BOOST_TEST(to_json(output.output()) == one.output);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
