// Graphs as clients see them.
#include "server/rules/graph_forms.hpp"

#include <troupe/troupe.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe::server {

BOOST_AUTO_TEST_SUITE(server_graph_forms)

BOOST_AUTO_TEST_CASE(the_schema_of_a_state_has_members_that_the_output_hides) {
  state_graph<> g{{{"question", last_value}, {"notes", append}, {"answer", last_value}}};
  g.input_schema({{"question", last_value}});
  g.output_schema({{"answer", last_value}});
  g.add_node("n", [] {});
  g.add_edge(START, "n");
  g.add_edge("n", END);

  auto form = schemas_form(g.compile({.name = "desk"}));

  BOOST_TEST(form["input_schema"]["properties"].size() == 1u);
  BOOST_TEST(form["output_schema"]["properties"].size() == 1u);
  const auto& state = form["state_schema"];
  BOOST_TEST(state["title"] == value("desk_state"));
  BOOST_TEST(state["properties"].size() == 3u);
  BOOST_TEST(state["properties"]["notes"] == (value{{"type", "array"}}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server
