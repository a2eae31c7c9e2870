// The picture of a graph: edges as the reference draws them, and the Mermaid text.
#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

using edge = compiled_graph::edge;
using edge_list = std::vector<edge>;
using labels = std::vector<std::pair<std::string, std::string>>;

value nothing(const state_view&) {
  return {};
}
const char* to_end(const state_view&) {
  return END;
}

state_graph<> graph_of(std::initializer_list<const char*> nodes) {
  state_graph<> g{{{"x", last_value}}};
  for (auto* n : nodes)
    g.add_node(n, nothing);
  return g;
}

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

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
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

BOOST_AUTO_TEST_CASE(a_route_without_a_path_map_may_go_anywhere) {
  auto g = graph_of({"a", "b"});
  g.add_edge(START, "a");
  g.add_conditional_edges("a", to_end);
  drawn(g, {always("__start__", "a"), maybe("a", "__end__"), maybe("a", "a"), maybe("a", "b"),
            always("b", "__end__")});
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

// ---- Mermaid --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_flowchart_has_rounded_ends_and_dotted_routes) {
  auto g = graph_of({"plan", "write"});
  g.add_edge(START, "plan");
  g.add_edge("write", "plan");
  g.add_conditional_edges("plan", to_end, labels{{"more", "write"}, {"done", END}});
  BOOST_TEST(g.compile().draw_mermaid()
             == "flowchart TD\n"
                "  __start__([\"start\"])\n"
                "  plan[\"plan\"]\n"
                "  write[\"write\"]\n"
                "  __end__([\"end\"])\n"
                "  __start__ --> plan\n"
                "  plan -.->|\"done\"| __end__\n"
                "  plan -.->|\"more\"| write\n"
                "  write --> plan\n");
}

BOOST_AUTO_TEST_CASE(no_name_or_label_can_break_the_flowchart) {
  auto g = graph_of({"end", "a b", "quote\"]; x[\"", "_2", "ünï", "line\nbreak", "graph"});
  g.add_edge(START, "end");
  g.add_conditional_edges("end", to_end, labels{{"\"|#&<b>", "a b"}});
  auto text = g.compile().draw_mermaid();
  BOOST_TEST(contains(text, "  _1[\"end\"]\n"));
  BOOST_TEST(contains(text, "  _2[\"a b\"]\n"));
  BOOST_TEST(contains(text, "  _3[\"quote#34;]#59; x[#34;\"]\n"));
  BOOST_TEST(contains(text, "  _4[\"_2\"]\n"));
  BOOST_TEST(contains(text, "  _5[\"ünï\"]\n"));
  BOOST_TEST(contains(text, "  _6[\"line break\"]\n"));
  BOOST_TEST(contains(text, "  _7[\"graph\"]\n"));
  BOOST_TEST(contains(text, "  _1 -.->|\"#34;|#35;#38;#60;b#62;\"| _2\n"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
