// Members that a config adds to the metadata of checkpoints.
#include "engine/checkpoint_metadata.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

run_config given() {
  return {.thread_id = "t",
          .metadata = {{"user", "u"},
                       {"step", 99},
                       {"plan", {{"level", 2}}},
                       {"list", value::list({1})},
                       {"none", nullptr},
                       {"thread_id", "t"},
                       {"checkpoint_id", "c"},
                       {"langgraph_node", "n"},
                       {"__hidden", 1}},
          .configurable = {{"model", "m"},
                           {"options", {{"x", 1}}},
                           {"user", "other"},
                           {"checkpoint_ns", "ns"},
                           {"__hidden", 1}}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_checkpoint_metadata)

BOOST_AUTO_TEST_CASE(scalars_but_those_of_the_place_are_kept) {
  BOOST_TEST(to_json(checkpoint_metadata("loop", 1, {}, given()))
             == R"({"model":"m","parents":{},"source":"loop","step":1,"user":"u"})");
}

BOOST_AUTO_TEST_CASE(whole_metadata_are_kept_with_maps_lists_and_the_place) {
  auto config = given();
  config.whole_metadata = true;
  BOOST_TEST(to_json(checkpoint_metadata("loop", 1, {}, config))
             == R"({"checkpoint_id":"c","langgraph_node":"n","list":[1],"model":"m",)"
                R"("options":{"x":1},"parents":{},"plan":{"level":2},"source":"loop","step":1,)"
                R"("user":"u"})");
}

BOOST_AUTO_TEST_CASE(a_run_shows_its_checkpoints_without_the_members_of_its_config) {
  auto config = given();
  config.whole_metadata = true;
  auto stored = checkpoint_metadata("loop", 1, {}, config).with("counters", 2);
  BOOST_TEST(to_json(without_extras(stored, config))
             == R"({"counters":2,"parents":{},"source":"loop","step":1})");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
