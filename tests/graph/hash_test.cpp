// The properties that make two graphs the same for two processes.
#include "graph/graph_hash.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>

namespace troupe {
namespace {

struct recipe {
  schema state{{"x", last_value}, {"log", append}};
  std::string node = "b";
  std::string to = END;
  bool defer = false;
  compile_options options{.name = "g"};
  std::optional<compiled_graph> inner = std::nullopt;
};

std::string hash_of(const recipe& r) {
  state_graph<> g{r.state};
  g.add_node("a", [] {});
  if (r.inner)
    g.add_node(r.node, *r.inner, {.defer = r.defer});
  else
    g.add_node(r.node, [] {}, {.defer = r.defer});
  g.add_edge(START, "a");
  g.add_edge("a", r.node);
  g.add_edge(r.node, r.to);
  return graph_hash(*g.compile(r.options).plan());
}

compiled_graph inner_graph(const std::string& node) {
  state_graph<> g{schema{{"x", last_value}}};
  g.add_node(node, [] {});
  g.add_edge(START, node);
  return g.compile({.name = "inner"});
}

BOOST_AUTO_TEST_SUITE(graph_hash)

BOOST_AUTO_TEST_CASE(two_graphs_built_alike_have_the_same) {
  BOOST_TEST(hash_of({}) == hash_of({}));
  BOOST_TEST(hash_of({}).size() == 32U);
  BOOST_TEST(hash_of({.inner = inner_graph("n")}) == hash_of({.inner = inner_graph("n")}));
}

BOOST_AUTO_TEST_CASE(each_difference_makes_another_one) {
  const recipe all[] = {
    {},
    {.state = schema{{"x", last_value}}},
    {.state = schema{{"x", any_value}, {"log", append}}},
    {.node = "c"},
    {.to = "a"},
    {.defer = true},
    {.options = {.name = "h"}},
    {.options = {.name = "g", .version = "2"}},
    {.options = {.name = "g", .checkpointer = checkpointing::none}},
    {.inner = inner_graph("n")},
    {.inner = inner_graph("m")},
  };
  for (const auto& one : all)
    for (const auto& other : all)
      BOOST_TEST((hash_of(one) == hash_of(other)) == (&one == &other));
}

BOOST_AUTO_TEST_CASE(the_bounds_of_a_run_are_no_part_of_it) {
  recipe bounded;
  bounded.options.interrupt_before = {"a"};
  BOOST_TEST(hash_of(bounded) == hash_of({}));
}

BOOST_AUTO_TEST_CASE(name_of_a_defined_channel_counts) {
  auto named = [](const char* name) {
    recipe r;
    r.state = {{"x", define_channel({.name = name, .update = [](const value& content, auto) {
                                       return std::optional<value>{content};
                                     }})}};
    return hash_of(r);
  };
  BOOST_TEST(named("one") == named("one"));
  BOOST_TEST(named("one") != named("two"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
