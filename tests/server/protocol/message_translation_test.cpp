// Messages of tasks as blocks.
#include "server/protocol/message_translation.hpp"

#include <troupe/agents/chat_model.hpp>
#include <troupe/agents/messages.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

namespace {

// Messages that tasks of a step send, and the events that a client hears: a line each.
class heard_messages {
public:
  void hear(const value& message, const char* task = "model:1", int step = 1) {
    auto ns = std::string{"outer:0|"} + task;
    auto metadata = value::map({{"langgraph_checkpoint_ns", ns}, {"langgraph_step", step}});
    to_.take(value::list({message, metadata}), events_);
  }
  void hear_all(const value& message, const char* task = "model:1") {
    for (const auto& part : parts_of_message(message))
      hear(part, task);
  }
  void end_of_task(const char* task) { to_.end_of_task(task, events_); }
  void end() { to_.end(events_); }

  // `start m`, `+0 text`, `-0 text`, `end`: an event in short, blocks with their indices.
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (const auto& e : std::exchange(events_, {}))
      out.push_back(line_of(e));
    return out;
  }

private:
  static std::string line_of(const value& e) {
    auto name = e["event"].as<std::string>();
    if (name == "message-start")
      return "start " + e["id"].as<std::string>() + ' ' + e["role"].as<std::string>();
    if (name == "message-finish")
      return "end" + (e.contains("usage") ? ' ' + to_json(e["usage"]) : "");
    auto index = std::to_string(e["index"].as<int>());
    if (name == "content-block-start")
      return '[' + index + ' ' + to_json(e["content"]);
    if (name == "content-block-finish")
      return ']' + index + ' ' + to_json(e["content"]);
    return '+' + index + ' ' + to_json(e["delta"]);
  }

  message_translation to_;
  message_translation::events events_;
};

using lines = std::vector<std::string>;

value piece(const char* id, const char* text) {
  return value::extension(
    value_kind::message,
    value::map({{"role", "assistant"}, {"content", text}, {"id", id}, {"chunk", true}}));
}

value calls_of(const char* id, const value& calls) {
  auto part = piece(id, "").payload().with("tool_call_chunks", calls);
  return value::extension(value_kind::message, part);
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_message_translation)

BOOST_AUTO_TEST_CASE(a_message_comes_in_blocks_in_the_order_of_their_first_pieces) {
  heard_messages client;
  const tool_call call{.name = "add", .args = value::map({{"a", 1}}), .id = "c"};
  client.hear_all(ai_message("So be", {call}, "m"));
  client.end();
  BOOST_TEST(
    client.lines()
      == (lines{"start m ai", R"([0 {"text":"","type":"text"})",
                R"(+0 {"text":"So ","type":"text-delta"})",
                R"(+0 {"text":"be","type":"text-delta"})",
                R"([1 {"args":"","id":"c","index":0,"name":"add","type":"tool_call_chunk"})",
                R"(+1 {"args":"{\"a\": 1}","type":"tool-call-delta"})",
                R"(]0 {"text":"So be","type":"text"})",
                R"(]1 {"args":{"a":1},"id":"c","name":"add","type":"tool_call"})", "end"}),
    boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(arguments_of_calls_come_in_pieces_of_each_call) {
  heard_messages client;
  auto args = [](int index, const char* text) {
    return value::map({{"args", text}, {"index", index}});
  };
  client.hear(calls_of(
    "m", value::list({args(0, "{\"a\"").with("id", "c"), args(1, "nothing").with("id", "d")})));
  client.hear(calls_of("m", value::list({args(0, ":1}")})));
  client.end();
  auto heard = client.lines();
  BOOST_REQUIRE(heard.size() == 9u);
  BOOST_TEST(heard[5] == R"(+0 {"args":":1}","type":"tool-call-delta"})");
  BOOST_TEST(heard[6] == R"(]0 {"args":{"a":1},"id":"c","name":"","type":"tool_call"})");
  BOOST_TEST(heard[7].find(R"("args":"nothing")") != std::string::npos);
  BOOST_TEST(heard[7].find(R"("type":"invalid_tool_call")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_message_of_a_second_model_waits_for_the_first) {
  heard_messages client;
  client.hear(piece("m", "a"), "one:1");
  client.hear(piece("n", "x"), "two:2");
  client.hear(piece("m", "b"), "one:1");
  client.hear(piece("n", "y"), "two:2");
  const auto first = client.lines();
  BOOST_TEST(first.back() == R"(+0 {"text":"b","type":"text-delta"})");
  client.end_of_task("one:1");
  BOOST_TEST(client.lines()
               == (lines{R"(]0 {"text":"ab","type":"text"})", "end", "start n ai",
                         R"([0 {"text":"","type":"text"})",
                         R"(+0 {"text":"xy","type":"text-delta"})"}),
             boost::test_tools::per_element());
  client.hear(piece("n", "z"), "two:2");
  BOOST_TEST(client.lines() == (lines{R"(+0 {"text":"z","type":"text-delta"})"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(messages_that_are_whole_while_they_wait_are_told_after_the_first) {
  heard_messages client;
  client.hear(piece("m", "a"), "one:1");
  client.hear(ai_message("whole", {}, "n"), "two:2");
  client.hear(piece("o", "c"), "three:3");
  client.lines();
  client.end();
  BOOST_TEST(client.lines().size() == 2u + 5u + 5u);
}

BOOST_AUTO_TEST_CASE(messages_of_an_earlier_step_are_whole) {
  heard_messages client;
  client.hear(piece("m", "a"), "model:1", 1);
  client.hear(piece("n", "b"), "model:2", 3);
  auto heard = client.lines();
  BOOST_TEST(std::ranges::count(heard, "end") == 1);
  BOOST_TEST(heard.back() == R"(+0 {"text":"b","type":"text-delta"})");
}

BOOST_AUTO_TEST_CASE(an_answer_of_a_tool_names_its_call_and_an_end_the_tokens) {
  heard_messages client;
  client.hear(tool_message("3", "call_1"));
  BOOST_TEST(client.lines().front().ends_with(" tool"));
  auto counted = ai_message("", {}, "m")
                   .payload()
                   .with("usage", value::map({{"input_tokens", 2}, {"output_tokens", 1}}));
  client.hear(value::extension(value_kind::message, counted));
  BOOST_TEST(client.lines() == (lines{"start m ai", R"(end {"input_tokens":2,"output_tokens":1})"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server
