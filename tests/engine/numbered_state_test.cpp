// The state of a thread as a checkpoint with numbers for names.
#include "engine/thread_state.hpp"
#include "tests/fixtures/given_names.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

/// Nodes that sort before and after the marks `__input__` and `__interrupt__`.
compiled_graph around_the_marks() {
  state_graph<> g{log_only};
  for (const auto* name : {"b", "A"})
    g.add_node(name, [](const state_view&) { return log("said"); });
  g.add_edge(START, "b");
  g.add_edge("b", "A");
  return g.compile({.name = "g"});
}

checkpoint marked_checkpoint() {
  checkpoint cp;
  cp.channel_versions = {
    {"__start__", {2, 7}}, {"branch:to:A", {4, 7}}, {"branch:to:b", {3, 7}}, {"log", {4, 7}}};
  cp.channel_values = {{"log", value::list({value{"said"}})}};
  cp.versions_seen = {{"A", {{"branch:to:A", {4, 7}}}},
                      {"__input__", {}},
                      {"__interrupt__", {{"__start__", {2, 7}}, {"log", {3, 7}}}},
                      {"__start__", {{"__start__", {1, 7}}}},
                      {"b", {{"branch:to:b", {2, 7}}}}};
  return cp;
}

thread_state loaded_state(const compiled_graph& graph, const checkpoint& cp) {
  thread_state state;
  BOOST_REQUIRE(load_state(state, graph.plan(), 7, cp));
  return state;
}

checkpoint_put taken_by_number(thread_state& state, const std::vector<channel_index>* updated) {
  name_table table;
  numbered_names names;
  use_names(*state.plan, names);
  numbered_put put;
  take_checkpoint(state, updated, put);
  put.translate(names, table);
  checkpoint_put out;
  test::give_names(put, table, out);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_numbered_state)

BOOST_AUTO_TEST_CASE(versions_and_marks_come_back_in_the_order_of_their_names) {
  auto graph = around_the_marks();
  auto state = loaded_state(graph, marked_checkpoint());
  BOOST_TEST(!has_foreign(state));
  auto out = taken_by_number(state, nullptr).checkpoint;
  BOOST_TEST((out.channel_versions == marked_checkpoint().channel_versions));
  BOOST_TEST((out.versions_seen == marked_checkpoint().versions_seen));
  BOOST_TEST(!out.updated_channels.has_value());
}

BOOST_AUTO_TEST_CASE(the_marks_come_last_where_no_node_follows) {
  auto graph = around_the_marks();
  auto cp = marked_checkpoint();
  cp.versions_seen.resize(3); // A and the marks
  auto state = loaded_state(graph, cp);
  BOOST_TEST((taken_by_number(state, nullptr).checkpoint.versions_seen == cp.versions_seen));
}

BOOST_AUTO_TEST_CASE(moved_and_updated_channels_are_sorted_by_name_and_taken_once) {
  auto graph = around_the_marks();
  auto state = loaded_state(graph, marked_checkpoint());
  auto channel = [&](std::string_view name) { return graph.plan()->find_channel(name); };
  state.moved = {channel("log"), channel("branch:to:b"), channel("log")};
  std::vector<channel_index> updated{channel("log"), channel("branch:to:b")};
  auto names = taken_by_number(state, &updated);
  std::vector<std::string> wanted{"branch:to:b", "log"};
  BOOST_TEST(names.new_versions == wanted, boost::test_tools::per_element());
  BOOST_TEST((names.checkpoint.updated_channels == wanted));
  BOOST_TEST((names.checkpoint.channel_values == marked_checkpoint().channel_values));
  BOOST_TEST(state.moved.empty());
}

BOOST_AUTO_TEST_CASE(names_of_another_graph_are_foreign) {
  auto cp = marked_checkpoint();
  cp.channel_versions.emplace_back("of another graph", version{1, 7});
  BOOST_TEST(has_foreign(loaded_state(around_the_marks(), cp)));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
