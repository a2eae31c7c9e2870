// Channels of the user's own in graphs with placed nodes: the rule runs at home.
#include "tests/fixtures/loopback_workers.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

/// Adds writes, and gives readers a text.
channel_spec total() {
  return define_channel(
    {.name = "total",
     .initial = 0,
     .update = [](const value& content, std::span<const value> writes) -> std::optional<value> {
       auto sum = content.as_int();
       for (const auto& w : writes)
         sum += w.as_int();
       return value(sum);
     },
     .get = [](const value& content) -> std::optional<value> {
       return value("total " + std::to_string(content.as_int()));
     }});
}

compiled_graph placed_total() {
  state_graph<> g{{{"total", total()}, {"seen", append}}};
  for (const char* name : {"a", "b"})
    g.add_node(name,
               [](const state_view& s) {
                 return state_update{{"total", 2}, {"seen", value::list({s["total"]})}};
               },
               {.placement = on_worker{}});
  g.add_edge(START, "a");
  g.add_conditional_edges("a", [](const state_view& s) { // reads the body's own write
    return s["total"] == value("total 2") ? "b" : END;
  });
  return g.compile({.name = "placed_total"});
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_defined_channel)

BOOST_AUTO_TEST_CASE(placed_bodies_read_and_write_a_channel_whose_rule_runs_at_home) {
  runtime rt{{.saver = make_memory_saver(), .workers = std::make_shared<loopback_workers>()}};
  auto app = rt.load(placed_total());
  auto out = app.invoke(state_update{}, {.thread_id = "t"}).value();
  BOOST_TEST(to_json(out["seen"]) == R"(["total 0","total 2"])");
  BOOST_TEST(out["total"] == value("total 4"));
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["total"] == value("total 4"));
}

BOOST_AUTO_TEST_CASE(write_of_a_placed_body_that_the_rule_refuses_names_the_channel) {
  state_graph<> g{{{"total", total()}}};
  g.add_node("far", [] { return state_update{{"total", "two"}}; }, {.placement = on_worker{}});
  g.add_edge(START, "far");
  runtime rt{{.saver = make_memory_saver(), .workers = std::make_shared<loopback_workers>()}};
  auto refused = rt.load(g.compile()).try_invoke(state_update{}, {.thread_id = "t"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message().starts_with("At key 'total': channel `total`, update: "));
  BOOST_TEST(refused.error().message().ends_with("(written by node `far`)"));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
