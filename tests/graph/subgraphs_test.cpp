// The graphs within a graph.
#include "tests/graph/draw_samples.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace troupe {

using namespace drawing_samples;

BOOST_AUTO_TEST_SUITE(graph_subgraphs)

namespace {

std::string listed(const compiled_graph& g, bool recurse, std::string_view ns = {}) {
  std::string out;
  for (const auto& [path, graph] : g.subgraphs(recurse, ns))
    out += path + "=" + graph.name() + " ";
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(subgraphs_are_graph_nodes_and_called_graphs_in_node_order) {
  BOOST_TEST(listed(nested(), false) == "middle=graph caller=helper ");
}

BOOST_AUTO_TEST_CASE(subgraphs_within_subgraphs_stand_behind_them_under_their_path) {
  BOOST_TEST(listed(nested(), true) == "middle=graph middle|inner=chain caller=helper ");
}

BOOST_AUTO_TEST_CASE(a_node_that_calls_several_graphs_has_an_entry_for_each) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("a", nothing, {.calls = {chain({"n"}, "one"), nested()}});
  g.add_edge(START, "a");
  BOOST_TEST(listed(g.compile(), false) == "a=one a=graph ");
  BOOST_TEST(listed(g.compile(), true)
             == "a=one a=graph a|middle=graph a|middle|inner=chain a|caller=helper ");
}

BOOST_AUTO_TEST_CASE(a_namespace_selects_the_graphs_of_one_path) {
  BOOST_TEST(listed(nested(), true, "middle|inner") == "middle|inner=chain ");
  BOOST_TEST(listed(nested(), false, "middle|inner") == "");
  BOOST_TEST(listed(nested(), true, "middle") == "middle=graph ");
  BOOST_TEST(listed(nested(), false, "caller") == "caller=helper ");
  BOOST_TEST(listed(nested(), true, "mid") == "");
}

BOOST_AUTO_TEST_CASE(a_subgraph_is_the_graph_that_was_added) {
  auto child = chain({"n"});
  state_graph<> g{{{"x", last_value}}};
  g.add_node("sub", child);
  g.add_edge(START, "sub");
  BOOST_TEST(g.compile().subgraphs().at(0).second.plan() == child.plan());
}

BOOST_AUTO_TEST_CASE(a_graph_of_plain_nodes_has_no_subgraphs) {
  BOOST_TEST(loop().subgraphs(true).empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
