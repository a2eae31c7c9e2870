// The edges of a graph as the reference draws them. Cases of the formats are in graph_draw_*_test.
#include "tests/graph/draw_samples.hpp"

#include <troupe/functional.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace drawing_samples;

using edge = compiled_graph::edge;
using edge_list = std::vector<edge>;

edge always(std::string from, std::string to) {
  return {std::move(from), std::move(to), "", false};
}
edge maybe(std::string from, std::string to, std::string label = "") {
  return {std::move(from), std::move(to), std::move(label), true};
}

void drawn(const state_graph<>& g, const edge_list& wanted) {
  auto got = g.compile().edges();
  auto text = [](const edge_list& list) {
    std::string out;
    for (const auto& e : list)
      out += e.from + (e.conditional ? " -" : " =") + e.label + "> " + e.to + "\n";
    return out;
  };
  BOOST_TEST(text(got) == text(wanted));
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_draw)

// ---- edges ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(joins_and_labelled_routes_are_drawn_as_the_reference_does) {
  auto g = graph_of({"a", "b", "c", "d"});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge({"b", "c"}, "d");
  g.add_edge("d", END);
  g.add_conditional_edges("a", to_end, labels{{"left", "b"}, {"right", "c"}});
  drawn(g, {always("__start__", "a"), maybe("a", "b", "left"), maybe("a", "c", "right"),
            always("b", "d"), always("c", "d"), always("d", "__end__")});
}

BOOST_AUTO_TEST_CASE(a_conditional_entry_is_drawn_without_labels_that_say_nothing) {
  auto g = graph_of({"a", "b"});
  g.add_edge("a", "b");
  g.add_edge("b", END);
  g.add_conditional_edges(START, to_end, {"a", "b"});
  drawn(g, {maybe("__start__", "a"), maybe("__start__", "b"), always("a", "b"),
            always("b", "__end__")});
}

BOOST_AUTO_TEST_CASE(destinations_are_drawn_as_conditional_edges) {
  auto g = graph_of({"b", "c"});
  g.add_node("a", nothing, {.destinations = {"b", "c"}});
  g.add_edge(START, "a");
  drawn(g, {always("__start__", "a"), maybe("a", "b"), maybe("a", "c"), always("b", "__end__"),
            always("c", "__end__")});
}

BOOST_AUTO_TEST_CASE(a_route_to_end_is_the_end_of_an_agent) {
  auto g = graph_of({"agent", "tools"});
  g.add_edge(START, "agent");
  g.add_edge("tools", "agent");
  g.add_conditional_edges("agent", to_end, {"tools", END});
  drawn(g, {always("__start__", "agent"), maybe("agent", "__end__"), maybe("agent", "tools"),
            always("tools", "agent")});
}

BOOST_AUTO_TEST_CASE(of_a_route_without_a_path_map_nothing_is_drawn) {
  auto g = graph_of({"a", "b"});
  g.add_edge(START, "a");
  g.add_conditional_edges("a", to_end);
  drawn(g, {always("__start__", "a"), always("a", "__end__")});
}

BOOST_AUTO_TEST_CASE(a_node_that_leads_nowhere_leads_to_the_end) {
  auto g = graph_of({"a", "b"});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  drawn(g, {always("__start__", "a"), always("a", "b"), always("b", "__end__")});
}

BOOST_AUTO_TEST_CASE(one_edge_is_drawn_from_a_node_to_another_with_the_first_label) {
  auto g = graph_of({"a", "b", "c"});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_conditional_edges("a", to_end, labels{{"x", "b"}, {"second", "c"}, {"first", "c"}});
  drawn(g, {always("__start__", "a"), maybe("a", "b", "x"), maybe("a", "c", "first"),
            always("b", "__end__"), always("c", "__end__")});
}

BOOST_AUTO_TEST_CASE(unreachable_nodes_have_no_edges) {
  auto g = graph_of({"a", "island", "waits"});
  g.add_edge(START, "a");
  g.add_edge("island", "a");
  g.add_edge({"a", "island"}, "waits");
  drawn(g, {always("__start__", "a"), always("a", "__end__")});
}

BOOST_AUTO_TEST_CASE(a_circle_of_commands_ends_where_its_last_step_does) {
  auto g = graph_of({"worker"});
  g.add_node("boss", nothing, {.destinations = {"worker"}});
  g.add_edge(START, "boss");
  g.add_edge("worker", "boss");
  drawn(g, {always("__start__", "boss"), maybe("boss", "__end__"), maybe("boss", "worker"),
            always("worker", "boss")});
}

BOOST_AUTO_TEST_CASE(a_circle_waits_for_joins_and_deferred_nodes_to_end) {
  auto g = graph_of({"a", "b", "c"});
  g.add_node("late", nothing, {.defer = true});
  g.add_conditional_edges("late", to_end, {"a"});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("a", "c");
  g.add_edge({"b", "c"}, "late");
  drawn(g, {always("__start__", "a"), always("a", "b"), always("a", "c"), always("b", "late"),
            always("c", "late"), maybe("late", "__end__"), maybe("late", "a")});
}

BOOST_AUTO_TEST_CASE(a_deferred_node_of_a_circle_runs_when_nothing_else_is_left) {
  auto g = graph_of({"a", "b"});
  g.add_node("late", nothing, {.defer = true});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("a", "late");
  g.add_conditional_edges("b", to_end, {"a"});
  g.add_conditional_edges("late", to_end, {"b"});
  drawn(g, {always("__start__", "a"), always("a", "b"), always("a", "late"), maybe("b", "__end__"),
            maybe("b", "a"), maybe("late", "b")});
}

BOOST_AUTO_TEST_CASE(a_circle_of_edges_has_no_end) {
  auto g = graph_of({"a", "b"});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", "a");
  drawn(g, {always("__start__", "a"), always("a", "b"), always("b", "a")});
}

BOOST_AUTO_TEST_CASE(a_long_chain_is_drawn_whole) {
  state_graph<> g{{{"x", last_value}}};
  std::string before = START;
  for (int i = 0; i < 600; ++i) {
    auto name = "n" + std::to_string(i);
    g.add_node(name, nothing);
    g.add_edge(before, name);
    before = name;
  }
  BOOST_TEST(g.compile().edges().size() == 601u);
}

// ---- nested graphs and workflows ------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_graph_as_a_node_is_one_node) {
  auto child = graph_of({"c1", "c2"});
  child.add_edge(START, "c1");
  child.add_edge("c1", "c2");
  auto g = graph_of({"p1", "p2"});
  g.add_node("sub", child.compile());
  g.add_edge(START, "p1");
  g.add_edge("p1", "sub");
  g.add_edge("sub", "p2");
  g.add_edge("p2", END);
  drawn(g, {always("__start__", "p1"), always("p1", "sub"), always("p2", "__end__"),
            always("sub", "p2")});
  BOOST_TEST(g.compile().nodes() == (std::vector<std::string>{"p1", "p2", "sub"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_graph_as_a_node_may_send_its_parent_to_its_destinations) {
  auto g = graph_of({"a", "b"});
  g.add_node("sub", chain({"c"}), {.destinations = {"a", "b"}});
  g.add_edge(START, "sub");
  drawn(g, {always("__start__", "sub"), always("a", "__end__"), always("b", "__end__"),
            maybe("sub", "a"), maybe("sub", "b")});
}

BOOST_AUTO_TEST_CASE(a_workflow_is_one_node_that_may_stop) {
  auto flow = entrypoint("flow", [](const value& in, context&) { return in; });
  auto got = flow.edges();
  BOOST_REQUIRE(got.size() == 2u);
  BOOST_TEST((got[0] == always("__start__", "flow")));
  BOOST_TEST((got[1] == maybe("flow", "__end__")));
}

BOOST_AUTO_TEST_CASE(error_handlers_are_not_drawn) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("a", nothing, {.error_handler = nothing});
  g.add_edge(START, "a");
  g.add_conditional_edges("a", to_end);
  drawn(g, {always("__start__", "a"), always("a", "__end__")});
  BOOST_TEST(!contains(g.compile().draw_mermaid(), "error"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
