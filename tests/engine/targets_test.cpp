// Where routes, gotos and sends may lead, and what they get that lead nowhere.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;

const char* const lost = "node `a` goes to `reveiw`, which is not a node of graph `g`";

node_output returned(node_output::part part) {
  node_output out;
  out.parts.push_back(std::move(part));
  return out;
}

/// A node `a` that returns this, and a node `review`.
compiled_graph decides(node_output output, compile_options options = {.name = "g"}) {
  state_graph<> g{log_only};
  g.add_node("a", [output](const state_view&) { return output; });
  g.add_node("review", [](const state_view&) { return log("review"); });
  g.add_edge(START, "a");
  return g.compile(std::move(options));
}

/// A node `a` and a route after it.
compiled_graph routes(destinations to) {
  state_graph<> g{log_only};
  g.add_node("a", [](const state_view&) { return log("a"); });
  g.add_node("review", [](const state_view&) { return log("review"); });
  g.add_edge(START, "a");
  g.add_conditional_edges("a", [to](const state_view&) { return to; });
  return g.compile({.name = "g"});
}

void check_lost(const result<run_result>& how, const std::string& text = lost) {
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::invalid_update));
  BOOST_TEST(how.error().message() == text);
}

command going(destinations to, std::string graph = {}) {
  command c;
  c.goto_ = std::move(to);
  c.graph = std::move(graph);
  return c;
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_targets)

BOOST_AUTO_TEST_CASE(a_goto_to_an_unknown_node_is_an_error_that_names_both) {
  runtime rt;
  check_lost(rt.load(decides(returned(going("reveiw")))).try_invoke({}));
}

BOOST_AUTO_TEST_CASE(a_send_to_an_unknown_node_is_an_error_that_names_both) {
  runtime rt;
  check_lost(rt.load(decides(returned(send{"reveiw", 1}))).try_invoke({}));
  check_lost(rt.load(decides(returned(going(send{"reveiw", 1})))).try_invoke({}));
}

BOOST_AUTO_TEST_CASE(a_route_to_an_unknown_node_is_an_error_that_names_both) {
  runtime rt;
  check_lost(rt.load(routes("reveiw")).try_invoke({}));
  check_lost(rt.load(routes(send{"reveiw", 1})).try_invoke({}));
  check_lost(rt.load(routes({"review", "reveiw"})).try_invoke({}));
}

BOOST_AUTO_TEST_CASE(a_route_from_the_start_to_an_unknown_node_is_an_error) {
  state_graph<> g{log_only};
  g.add_node("review", [](const state_view&) { return log("review"); });
  g.add_conditional_edges(START, [](const state_view&) { return "reveiw"; });
  runtime rt;
  check_lost(rt.load(g.compile({.name = "g"})).try_invoke({}),
             "node `__start__` goes to `reveiw`, which is not a node of graph `g`");
}

BOOST_AUTO_TEST_CASE(the_end_and_known_nodes_are_targets) {
  runtime rt;
  BOOST_TEST(rt.load(decides(returned(going(END)))).try_invoke({}).has_value());
  auto reviewed = rt.load(decides(returned(going("review")))).invoke({});
  BOOST_TEST(reviewed.value()["log"] == words({"review"}));
  BOOST_TEST(rt.load(routes({"review", END})).invoke({}).value()["log"] == words({"a", "review"}));
}

BOOST_AUTO_TEST_CASE(a_command_for_the_parent_names_a_node_of_the_parent) {
  for (const char* target : {"review", "inner"}) {
    state_graph<> outer{log_only};
    outer.add_node("sub", decides(returned(going(target, command::PARENT)), {.name = "inner"}));
    outer.add_node("review", [](const state_view&) { return log("outer review"); });
    outer.add_edge(START, "sub");
    runtime rt;
    auto how = rt.load(outer.compile({.name = "outer"})).try_invoke({});
    if (std::string{target} == "review")
      BOOST_TEST(how.value().value()["log"] == words({"outer review"}));
    else
      check_lost(how, "node `sub` goes to `inner`, which is not a node of graph `outer`");
  }
}

BOOST_AUTO_TEST_CASE(a_command_as_input_that_leads_nowhere_is_refused_and_changes_nothing) {
  runtime rt{with_memory()};
  auto app = rt.load(decides(returned(log("a"))));
  app.invoke({}, {.thread_id = "t"});
  auto before = app.get_state({.thread_id = "t"});
  const std::string text =
    "the command that is the input goes to `reveiw`, which is not a node of graph `g`";
  check_lost(app.try_invoke(going("reveiw"), {.thread_id = "t"}), text);
  check_lost(app.try_invoke(going(send{"reveiw", 1}), {.thread_id = "t"}), text);
  check_lost(app.try_invoke(going("reveiw"), {.thread_id = "new"}), text);
  auto after = app.get_state({.thread_id = "t"});
  BOOST_TEST(after.config.checkpoint_id == before.config.checkpoint_id);
  BOOST_TEST(after.next.empty());
  BOOST_TEST(app.invoke(going("review"), {.thread_id = "t"}).value()["log"]
             == words({"a", "review"}));
}

BOOST_AUTO_TEST_CASE(an_update_from_outside_whose_route_leads_nowhere_is_refused) {
  runtime rt{with_memory()};
  auto app = rt.load(routes("reveiw"));
  auto one = app.try_update_state({.thread_id = "t"}, log("x"), "a");
  BOOST_REQUIRE(!one);
  BOOST_TEST(one.error().message() == lost);
  auto many = app.try_bulk_update_state({.thread_id = "t"}, {{{log("x"), "a"}, {log("y"), "a"}}});
  BOOST_REQUIRE(!many);
  BOOST_TEST(many.error().message() == lost);
  BOOST_TEST(app.get_state({.thread_id = "t"}).values.empty());
}

BOOST_AUTO_TEST_CASE(what_other_tasks_of_the_step_did_is_kept_and_the_decision_is_made_again) {
  counter ran{0};
  std::string target = "reveiw";
  state_graph<> g{log_only};
  g.add_node("a", [&target](const state_view&) { return going(target); });
  g.add_node("b", [&ran](const state_view&) {
    ++ran;
    return log("b");
  });
  g.add_node("review", [](const state_view&) { return log("review"); });
  g.add_edge(START, "a");
  g.add_edge(START, "b");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile({.name = "g"}));
  check_lost(app.try_invoke({}, {.thread_id = "t"}));
  target = "review";
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == words({"b", "review"}));
  BOOST_TEST(ran == 1);
}

BOOST_AUTO_TEST_CASE(a_graph_may_drop_what_leads_nowhere_as_the_reference_does) {
  runtime rt;
  const compile_options lenient{.name = "g", .strict_targets = false};
  BOOST_TEST(rt.load(decides(returned(going("reveiw")), lenient)).try_invoke({}).has_value());
  BOOST_TEST(rt.load(decides(returned(send{"reveiw", 1}), lenient)).try_invoke({}).has_value());
  BOOST_TEST(rt.load(decides(returned(log("a")), lenient)).try_invoke(going("reveiw")).has_value());
}

// A key that the node did not write is as it was, unless it is emptied by a step without a write.
BOOST_AUTO_TEST_CASE(a_route_reads_the_state_as_its_node_leaves_it) {
  value body_saw, route_saw;
  state_graph<> g{{{"kept", last_value}, {"n", last_value}, {"note", ephemeral}}};
  g.add_node("a", [](const state_view&) {
    return state_update{{"kept", 1}, {"n", 1}, {"note", "x"}};
  });
  g.add_node("b", [&body_saw](const state_view& s) {
    body_saw = s.to_value();
    return state_update{{"n", 2}};
  });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_conditional_edges("b", [&route_saw](const state_view& s) {
    route_saw = s.to_value();
    return END;
  });
  runtime rt;
  BOOST_REQUIRE(rt.load(g.compile()).try_invoke(value::map()));
  BOOST_TEST(body_saw == value::map({{"kept", 1}, {"n", 1}, {"note", "x"}}));
  BOOST_TEST(route_saw == value::map({{"kept", 1}, {"n", 2}}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
