// The parts of a run as events of the thread protocol.
#include "server/protocol/run_translation.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {

namespace {

using names = std::vector<std::string>;

stream_part part_of(stream_mode mode, value data, std::vector<std::string> ns = {}) {
  stream_part out;
  out.mode = mode;
  out.ns = std::move(ns);
  out.data = std::move(data);
  return out;
}

value config_at(const char* checkpoint_id) {
  return value::map({{"configurable", value::map({{"checkpoint_id", checkpoint_id}})}});
}

stream_part checkpoint_after(const value& parent_config, std::vector<std::string> ns = {}) {
  return part_of(stream_mode::checkpoints,
                 value::map({{"config", config_at("c2")},
                             {"parent_config", parent_config},
                             {"values", value::map({{"n", 2}})},
                             {"metadata", value::map({{"step", 1}, {"source", "loop"}})}}),
                 std::move(ns));
}

names methods_of(const run_translation::events& events) {
  names out;
  for (const auto& event : events)
    out.push_back(event.method);
  return out;
}

const value two = value::map({{"n", 2}});

} // namespace

BOOST_AUTO_TEST_SUITE(server_run_translation)

BOOST_AUTO_TEST_CASE(a_checkpoint_comes_just_before_its_values) {
  run_translation run{"graph", true};
  BOOST_TEST(run.part(part_of(stream_mode::values, two)).empty());
  auto events = run.part(checkpoint_after(config_at("c1")));
  BOOST_REQUIRE(methods_of(events) == (names{"checkpoints", "values"}));
  BOOST_TEST(events[0].data
             == value::map({{"id", "c2"}, {"parent_id", "c1"}, {"step", 1}, {"source", "loop"}}));
  BOOST_TEST(events[1].data == two);
}

BOOST_AUTO_TEST_CASE(a_first_checkpoint_names_no_parent) {
  run_translation run{"graph", true};
  run.part(part_of(stream_mode::values, two));
  auto events = run.part(checkpoint_after({}));
  BOOST_REQUIRE(events.size() == 2);
  BOOST_TEST(!events[0].data.contains("parent_id"));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_without_values_is_not_told) {
  run_translation run{"graph", true};
  BOOST_TEST(run.part(checkpoint_after({})).empty());
}

BOOST_AUTO_TEST_CASE(values_without_a_checkpoint_are_told_before_what_follows) {
  auto task = value::map({{"id", "t"}, {"name", "node"}});
  run_translation run{"graph", true};
  run.part(part_of(stream_mode::values, two));
  auto events = run.part(part_of(stream_mode::tasks, task));
  BOOST_REQUIRE(methods_of(events) == (names{"values"}));

  run.part(part_of(stream_mode::values, two));
  events = run.ended({});
  BOOST_REQUIRE(methods_of(events) == (names{"values", "lifecycle"}));
}

BOOST_AUTO_TEST_CASE(values_of_a_nested_graph_wait_for_their_own_checkpoint) {
  run_translation run{"graph", true};
  run.part(part_of(stream_mode::values, two, {"sub:1"}));
  run.part(part_of(stream_mode::values, two, {"sub:2"}));
  auto events = run.part(checkpoint_after({}, {"sub:2"}));
  BOOST_REQUIRE(methods_of(events) == (names{"checkpoints", "values"}));
  BOOST_TEST(events[0].ns == names{"sub:2"}, boost::test_tools::per_element());
  events = run.part(part_of(stream_mode::tasks,
                            value::map({{"id", "1"}, {"name", "sub"}, {"result", value::map()}})));
  BOOST_REQUIRE(methods_of(events) == (names{"values", "lifecycle"}));
  BOOST_TEST(events[0].ns == names{"sub:1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_of_a_run_without_checkpoints_and_of_a_question_do_not_wait) {
  run_translation run{"graph"};
  BOOST_TEST(methods_of(run.part(part_of(stream_mode::values, two))) == names{"values"},
             boost::test_tools::per_element());
  auto asks = two.with("__interrupt__", value::list({value::map({{"id", "q"}, {"value", 1}})}));
  run_translation other{"graph", true};
  BOOST_TEST(methods_of(other.part(part_of(stream_mode::values, asks)))
               == (names{"input.requested", "values"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_question_is_taken_once_after_the_run_asked_it) {
  auto question = value::map({{"id", "q"}, {"value", "approve?"}});
  stream_part asks;
  asks.mode = stream_mode::updates;
  asks.data = value::map({{"__interrupt__", value::list({question})}});
  run_translation run{"graph"};
  BOOST_TEST(!run.take_question("q"));
  auto events = run.part(asks);
  BOOST_REQUIRE(events.size() == 1);
  BOOST_TEST(events[0].method == "input.requested");
  BOOST_TEST(!run.take_question("another"));
  BOOST_TEST(run.take_question("q"));
  BOOST_TEST(!run.take_question("q"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server
