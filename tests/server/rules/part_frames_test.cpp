// Events that clients get for the parts of a run.
#include "server/rules/part_frames.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::server::test {
namespace {

const traced_run a_run{.run_id = "r", .name = "g", .input = {}};

std::string names_of(const part_frames::frames& frames) {
  std::string out;
  for (const auto& [name, data] : frames)
    out += name + ' ';
  return out;
}

stream_part part_of(stream_mode mode, std::vector<std::string> ns = {}) {
  return {mode, std::move(ns), value::map({{"type", "task"}})};
}

stream_part said_by_model(const value& members) {
  auto message = value::map({{"role", "assistant"}, {"id", "m"}, {"content", ""}, {"chunk", true}});
  for (const auto& e : members.entries())
    message = message.with(e.key(), e.val);
  return {stream_mode::messages,
          {},
          value::list({value::extension(value_kind::message, message), value::map()})};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_part_frames)

BOOST_AUTO_TEST_CASE(parts_of_nested_graphs_are_shown_where_they_were_asked_for) {
  part_frames own{{"updates", "events"}, false};
  BOOST_TEST(names_of(own.frames_of(part_of(stream_mode::updates))) == "updates ");
  BOOST_TEST(names_of(own.frames_of(part_of(stream_mode::updates, {"sub:1"}))) == "");
  part_frames all{{"updates"}, true};
  BOOST_TEST(names_of(all.frames_of(part_of(stream_mode::updates, {"sub:1"}))) == "updates|sub:1 ");
}

BOOST_AUTO_TEST_CASE(events_are_made_of_parts_that_are_not_shown_themselves) {
  part_frames frames{{"events"}, false};
  BOOST_TEST(names_of(frames.began(a_run, [] { return "id"; })) == "events ");
  BOOST_TEST(names_of(frames.frames_of(part_of(stream_mode::debug))) == "events ");
  BOOST_TEST(names_of(frames.frames_of(part_of(stream_mode::debug, {"sub:1"}))) == "events ");
  BOOST_TEST(names_of(frames.ended({})) == "events ");
  part_frames both{{"events", "debug"}, false};
  both.began(a_run, [] { return "id"; });
  BOOST_TEST(names_of(both.frames_of(part_of(stream_mode::debug))) == "events debug ");
}

BOOST_AUTO_TEST_CASE(a_run_without_events_is_not_traced) {
  part_frames frames{{"values"}, false};
  BOOST_TEST(frames.began(a_run, [] { return "id"; }).empty());
  BOOST_TEST(frames.frames_of(part_of(stream_mode::debug)).empty());
  BOOST_TEST(frames.ended({}).empty());
}

BOOST_AUTO_TEST_CASE(a_message_grows_with_its_calls) {
  part_frames frames{{"messages"}, false};
  auto call = [](const char* args) {
    return value::map({{"tool_call_chunks",
                        value::list({value::map({{"index", 0}, {"name", "f"}, {"args", args}})})}});
  };
  BOOST_TEST(names_of(frames.frames_of(said_by_model({{"content", "so"}})))
             == "messages/metadata messages/partial ");
  frames.frames_of(said_by_model(call("{\"a\":")));
  auto grown = frames.frames_of(said_by_model(
    {{"tool_call_chunks", value::list({value::map({{"index", 0}, {"args", "1}"}})})}}));
  BOOST_REQUIRE(grown.size() == 1u);
  auto message = from_json(grown[0].second, json_form::plain).value()[0];
  BOOST_TEST(message["content"] == value("so"));
  BOOST_TEST(message["tool_calls"][0]["args"] == (value{{"a", 1}}));
}

BOOST_AUTO_TEST_CASE(a_removal_of_a_message_is_shown_in_the_form_of_clients) {
  const stream_part removal{
    stream_mode::messages,
    {},
    value::list({value::extension(value_kind::remove_message, "m"), value::map()})};
  part_frames grown{{"messages"}, false};
  auto frames = grown.frames_of(removal);
  BOOST_TEST(names_of(frames) == "messages/metadata messages/complete ");
  BOOST_TEST(from_json(frames[0].second, json_form::plain).value().contains("m"));
  BOOST_TEST(from_json(frames[1].second, json_form::plain).value()[0]["type"] == value("remove"));
  part_frames tuples{{"messages-tuple"}, false};
  frames = tuples.frames_of(removal);
  BOOST_TEST(names_of(frames) == "messages ");
  BOOST_TEST(from_json(frames[0].second, json_form::plain).value()[0]["id"] == value("m"));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_not_of_a_message_is_shown_as_it_is) {
  part_frames frames{{"messages"}, false};
  BOOST_TEST(names_of(frames.frames_of({stream_mode::messages, {}, value("changed")}))
             == "messages ");
  auto pair = value::list({"changed", value::map()});
  BOOST_TEST(names_of(frames.frames_of({stream_mode::messages, {}, pair}))
             == "messages/metadata messages/complete ");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
