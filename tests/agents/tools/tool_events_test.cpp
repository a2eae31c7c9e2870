// The events of tools, beside the state.
#include <troupe/agents.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe::test {

BOOST_AUTO_TEST_SUITE(agents_tool_events)

BOOST_AUTO_TEST_CASE(a_result_has_one_id_in_its_event_and_in_the_state) {
  tool one{"one", "", [] { return 1; }};
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{{one}});
  g.add_edge(START, "tools");
  runtime rt;
  auto asked = value{{"messages", value::list({ai_message("", {{.name = "one", .id = "1"}})})}};
  auto parts = rt.load(g.compile()).stream(asked, {}, {stream_mode::tools, stream_mode::values});
  value told, kept;
  while (auto part = parts.next())
    if (part->mode == stream_mode::values)
      kept = part->data["messages"];
    else if (part->data["event"] == value("tool-finished"))
      told = part->data["output"];
  BOOST_REQUIRE(kept.size() == 2u);
  BOOST_TEST(message_member(told, "id").is_string());
  BOOST_TEST(message_member(told, "id") == message_member(kept[1], "id"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
