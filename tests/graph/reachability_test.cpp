// Nodes that nothing leads to, and graphs that share nothing: warnings, and errors on demand.
#include "graph/graph_plan.hpp"

#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

namespace troupe {

namespace {

/// A graph with a, b and c, of which an edge leads to a.
state_graph<> edge_to_a() {
  state_graph<> g{schema{{"x", last_value}}};
  for (const auto* node : {"a", "b", "c"})
    g.add_node(node, [] {});
  g.add_edge(START, "a");
  return g;
}

/// The nodes that the warnings name as not reachable.
std::string unreached(const compiled_graph& graph) {
  std::string out;
  for (const auto& text : graph.warnings())
    if (text.find("is not reachable") != std::string::npos)
      out += text.substr(text.find('`') + 1, 1);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_reachability)

BOOST_AUTO_TEST_CASE(a_node_that_nothing_leads_to_is_named) {
  auto g = edge_to_a();
  g.add_edge("b", "c");
  BOOST_TEST(unreached(g.compile()) == "bc");
  auto strict = g.try_compile({.strict_reachability = true});
  BOOST_REQUIRE(!strict);
  BOOST_TEST((strict.error().code() == errc::invalid_graph));
  BOOST_TEST(strict.error().type() == "UnreachableNodeError");
  BOOST_TEST(strict.error().message().find("`b`") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(edges_joins_routes_subscriptions_and_destinations_lead_to_nodes) {
  using change = std::function<void(state_graph<>&)>;
  const std::vector<change> ways{
    [](auto& g) {
      g.add_edge("a", "b");
      g.add_edge("b", "c");
    },
    [](auto& g) {
      g.add_edge("a", "b");
      g.add_edge({"a", "b"}, "c");
    },
    [](auto& g) {
      g.add_conditional_edges("a", [](const state_view&) { return "b"; }, {"b", "c"});
    },
    [](auto& g) { // leads anywhere
      g.add_conditional_edges("a", [](const state_view&) { return "b"; });
    },
    [](auto& g) {
      g.add_edge("a", "b");
      g.subscribe("c", {"x"});
    },
    [](auto& g) {
      g.add_node("goes", [] {}, {.destinations = {"b", "c"}});
      g.add_edge(START, "goes");
    },
    [](auto& g) { // a handler may lead anywhere
      g.add_node("fails", [] {},
                 {.error_handler = [](const state_view&, context&) { return value{}; }});
      g.add_edge(START, "fails");
    }};
  for (const auto& way : ways) {
    auto g = edge_to_a();
    way(g);
    BOOST_TEST(unreached(g.compile()) == "");
    BOOST_TEST(g.try_compile({.strict_reachability = true}).has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_a_join_waits_for_is_named_once) {
  auto g = edge_to_a();
  g.add_edge({"a", "b"}, "c");
  auto graph = g.compile();
  BOOST_TEST(unreached(graph) == "");
  BOOST_REQUIRE(graph.warnings().size() == 1u);
  BOOST_TEST(graph.warnings()[0].find("The join into `c`") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_graph_that_shares_no_key_is_warned_about) {
  auto around = [](const schema& inner_state) {
    state_graph<> in{inner_state};
    in.add_node("n", [] {});
    in.add_edge(START, "n");
    state_graph<> g{schema{{"x", last_value}, {"y", last_value}}};
    g.add_node("inner", in.compile({.name = "in"}));
    g.add_edge(START, "inner");
    return g.compile().warnings();
  };
  BOOST_TEST(around({{"x", last_value}, {"own", last_value}}).empty());
  auto warnings = around({{"own", last_value}});
  BOOST_REQUIRE(warnings.size() == 1u);
  BOOST_TEST(warnings[0].find("Node `inner` is graph `in`") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
