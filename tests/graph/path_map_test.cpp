// path_map: how labels and nodes are written down.
#include "graph/graph_plan.hpp"

#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using labels = std::vector<std::pair<std::string, std::string>>;

/// The entries that add_conditional_edges gets.
labels entries_of(const path_map& map) {
  return map.given() ? map.entries() : labels{{"not", "given"}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_path_map)

BOOST_AUTO_TEST_CASE(pairs_in_braces_are_labels_and_names_in_braces_are_nodes) {
  const labels one{{"yes", "no"}};
  const labels two{{"true", "work"}, {"false", "done"}};
  const labels nodes{{"a", "a"}, {"b", "b"}};
  BOOST_TEST((entries_of({{"yes", "no"}}) == one));
  BOOST_TEST((entries_of({{"true", "work"}, {"false", "done"}}) == two));
  BOOST_TEST((entries_of({"a", "b"}) == nodes));
  BOOST_TEST((entries_of({"a"}) == labels{{"a", "a"}}));
  BOOST_TEST((entries_of({}) == labels{{"not", "given"}}));
}

BOOST_AUTO_TEST_CASE(a_path_map_may_be_spelled_out) {
  const labels one{{"yes", "no"}};
  const labels two{{"true", "work"}, {"false", "done"}};
  const labels nodes{{"a", "a"}, {"b", "b"}};
  BOOST_TEST((path_map{{"yes", "no"}}.entries() == one));
  BOOST_TEST((path_map{{"true", "work"}, {"false", "done"}}.entries() == two));
  BOOST_TEST((path_map{{{"yes", "no"}}}.entries() == one));
  BOOST_TEST((path_map{{{"true", "work"}, {"false", "done"}}}.entries() == two));
  BOOST_TEST((path_map({{"yes", "no"}}).entries() == one));
  BOOST_TEST((path_map({{"true", "work"}, {"false", "done"}}).entries() == two));
  BOOST_TEST((path_map{"a", "b"}.entries() == nodes));
  BOOST_TEST((path_map({"a", "b"}).entries() == nodes));
}

BOOST_AUTO_TEST_CASE(labels_and_nodes_may_be_strings) {
  const std::string yes{"yes"}, no{"no"};
  BOOST_TEST((entries_of({{yes, no}}) == labels{{"yes", "no"}}));
  BOOST_TEST((entries_of({{yes, "no"}, {"no", END}}) == labels{{"yes", "no"}, {"no", END}}));
  BOOST_TEST((entries_of({yes, no}) == labels{{"yes", "yes"}, {"no", "no"}}));
  const std::vector<std::string> list{"yes", "no"};
  BOOST_TEST((entries_of(list) == labels{{"yes", "yes"}, {"no", "no"}}));
  BOOST_TEST((entries_of(std::vector<std::string>{"yes"}) == labels{{"yes", "yes"}}));
  BOOST_TEST((entries_of(labels{{"yes", "no"}}) == labels{{"yes", "no"}}));
}

BOOST_AUTO_TEST_CASE(a_map_of_one_label_leads_to_its_node) {
  state_graph<> g{schema{{"x", last_value}, {"log", append}}};
  g.add_node("yes", [] {});
  g.add_node("no", [] {});
  g.add_conditional_edges(START, [](const state_view&) { return "yes"; }, {{"yes", "no"}});
  auto graph = g.compile();
  BOOST_TEST(graph.edges().size() > 0u);
  for (const auto& edge : graph.edges())
    if (edge.from == START)
      BOOST_TEST(edge.to == "no");
}
BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
