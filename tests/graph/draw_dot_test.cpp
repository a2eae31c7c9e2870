// Drawings as Graphviz digraphs.
#include "tests/graph/draw_samples.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <regex>
#include <string>

namespace troupe {

using namespace drawing_samples;

namespace {

// Strings end, braces match, and every other line is a statement of known words.
bool is_digraph(const std::string& text) {
  auto bare = std::regex_replace(text, std::regex{"\"([^\"\\\\\\n]|\\\\.)*\""}, "S");
  auto statement = std::string{"(graph|node|edge|S|S -> S)( \\[[a-z]+=(S|[A-Za-z0-9]+)"
                               "(, [a-z]+=(S|[A-Za-z0-9]+))*\\])?;"};
  std::regex line{" *(digraph S \\{|subgraph S \\{|\\}|" + statement + ")"};
  int depth = 0;
  for (std::size_t at = 0, end; at < bare.size(); at = end + 1) {
    end = bare.find('\n', at);
    auto l = bare.substr(at, end - at);
    depth += l.ends_with('{') ? 1 : l.ends_with('}') ? -1 : 0;
    if (end == bare.npos || depth < 0 || !std::regex_match(l, line)) {
      BOOST_TEST_MESSAGE("no line of a digraph: " << l);
      return false;
    }
  }
  return depth == 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_draw_dot)

BOOST_AUTO_TEST_CASE(a_loop_has_round_ends_and_dotted_routes) {
  auto text = loop().draw_dot();
  BOOST_TEST(text.starts_with("digraph \"graph\" {\n  graph [rankdir=TB, "));
  BOOST_TEST(contains(text, "  \"__start__\" [label=\"start\", shape=ellipse, "
                            "fillcolor=\"#ffffff\"];\n"
                            "  \"plan\" [label=\"plan\"];\n"
                            "  \"write\" [label=\"write\"];\n"
                            "  \"__end__\" [label=\"end\", shape=ellipse, fillcolor=\"#bfb6fc\"];\n"
                            "  \"__start__\" -> \"plan\";\n"
                            "  \"plan\" -> \"write\" [style=dotted, label=\"more\"];\n"
                            "  \"plan\" -> \"__end__\" [style=dotted, label=\"done\"];\n"
                            "  \"write\" -> \"plan\";\n"
                            "}\n"));
  BOOST_TEST(is_digraph(text));
}

BOOST_AUTO_TEST_CASE(a_chain_and_a_fan_out_have_plain_edges) {
  auto text = chain({"a", "b"}).draw_dot();
  BOOST_TEST(contains(text, "  \"a\" -> \"b\";\n  \"b\" -> \"__end__\";\n"));
  text = fan_out().draw_dot();
  BOOST_TEST(contains(text, "  \"split\" -> \"left\";\n  \"split\" -> \"right\";\n"));
  BOOST_TEST(!contains(text, "dotted"));
}

BOOST_AUTO_TEST_CASE(a_nested_graph_is_a_cluster_under_xray_whose_edges_end_at_its_border) {
  auto closed = nested().draw_dot();
  BOOST_TEST(contains(closed, "  \"middle\" [label=\"middle\", peripheries=2];\n"));
  BOOST_TEST(!contains(closed, "cluster"));
  auto text = nested().draw_dot({.xray = 1});
  BOOST_TEST(contains(text, "  subgraph \"cluster_middle\" {\n    graph [label=\"middle\", "));
  BOOST_TEST(contains(text, "    \"middle___start__\" -> \"middle_inner\";\n"));
  BOOST_TEST(contains(text, "  \"first\" -> \"middle___start__\" [style=dotted, "
                            "lhead=\"cluster_middle\"];\n"));
  BOOST_TEST(contains(text, "  \"middle___end__\" -> \"caller\" [ltail=\"cluster_middle\"];\n"));
  BOOST_TEST(contains(text, "  \"caller\" -> \"caller_helper___start__\" [style=dotted, "
                            "lhead=\"cluster_caller_helper\"];\n"));
  BOOST_TEST(is_digraph(text));
  BOOST_TEST(
    contains(nested().draw_dot({.xray = xray_all}), "    subgraph \"cluster_middle_inner\" {\n"));
}

BOOST_AUTO_TEST_CASE(a_nested_graph_without_an_end_is_left_from_its_start) {
  auto circle = graph_of({"a", "b"});
  circle.add_edge(START, "a");
  circle.add_edge("a", "b");
  circle.add_edge("b", "a");
  auto g = graph_of({"next"});
  g.add_node("sub", circle.compile());
  g.add_edge(START, "sub");
  g.add_edge("sub", "next");
  BOOST_TEST(contains(g.compile().draw_dot({.xray = 1}),
                      "  \"sub___start__\" -> \"next\" [ltail=\"cluster_sub\"];\n"));
}

BOOST_AUTO_TEST_CASE(options_give_direction_title_and_curve) {
  auto text = chain({"a"}).draw_dot(
    {.direction = draw_direction::right, .curve = draw_curve::straight, .title = "A \"title\""});
  BOOST_TEST(contains(text, "rankdir=LR, compound=true, splines=polyline"));
  BOOST_TEST(contains(text, "label=\"A \\\"title\\\"\""));
  BOOST_TEST(is_digraph(text));
}

BOOST_AUTO_TEST_CASE(names_are_quoted) {
  auto g = graph_of({"a\"]; b [x=\"", "back\\", "&lt;", "\\N"});
  g.add_edge(START, "back\\");
  auto text = g.compile().draw_dot();
  BOOST_TEST(contains(text, "  \"_1\" [label=\"a\\\"]; b [x=\\\"\"];\n"));
  BOOST_TEST(contains(text, "  \"_2\" [label=\"back\\\\\"];\n"));
  BOOST_TEST(contains(text, "  \"_3\" [label=\"&amp;lt;\"];\n"));
  BOOST_TEST(contains(text, "  \"_4\" [label=\"\\\\N\"];\n"));
}

BOOST_DATA_TEST_CASE(no_text_breaks_a_digraph, boost::unit_test::data::xrange(60u), seed) {
  auto [graph, options] = hostile_graph(seed);
  auto text = graph.draw_dot(options);
  BOOST_TEST_CONTEXT(text) {
    BOOST_TEST(is_digraph(text));
  }
}

BOOST_AUTO_TEST_CASE(a_thousand_nodes_are_drawn) {
  BOOST_TEST(contains(chain(numbered(1000)).draw_dot(), "  \"n998\" -> \"n999\";\n"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
