// Nodes that run when a channel moves, after the examples of langgraph/pregel/main.py, Pregel.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

/// Puts the value of `from`, twice, into `to`.
auto doubled(const char* from, const char* to) {
  return [from, to](const state_view& s) {
    std::string text{s[from].as_string()};
    return state_update{{to, text + text}};
  };
}

value run(const compiled_graph& graph, state_update input) {
  runtime rt{{.saver = make_memory_saver()}};
  return rt.load(graph).invoke(std::move(input), {.thread_id = "t"}).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_subscription)

BOOST_AUTO_TEST_CASE(a_node_runs_when_its_channel_got_a_value) {
  state_graph<> g{{{"a", ephemeral}, {"b", last_value}, {"c", last_value}}};
  g.add_node("one", doubled("a", "b"));
  g.add_node("two", doubled("b", "c"));
  g.subscribe("one", {"a"});
  g.subscribe("two", {"b"});
  g.output_schema({{"b", last_value}, {"c", last_value}});
  auto out = run(g.compile(), {{"a", "foo"}});
  BOOST_TEST(out["b"] == value("foofoo"));
  BOOST_TEST(out["c"] == value("foofoofoofoo"));
}

BOOST_AUTO_TEST_CASE(two_nodes_of_one_channel_run_side_by_side_and_meet_at_a_reducer) {
  state_graph<> g{{{"a", ephemeral}, {"b", last_value}, {"log", append}}};
  g.add_node("one", [](const state_view& s) {
    return state_update{{"b", s["a"]}, {"log", value::list({s["a"]})}};
  });
  g.add_node("two", [](const state_view& s) {
    return state_update{{"log", value::list({s["b"]})}};
  });
  g.subscribe("one", {"a"});
  g.subscribe("two", {"b"});
  BOOST_TEST(run(g.compile(), {{"a", "foo"}})["log"] == words({"foo", "foo"}));
}

BOOST_AUTO_TEST_CASE(a_node_that_writes_its_own_channel_runs_until_it_writes_no_more) {
  state_graph<> g{{{"value", last_value}}};
  g.add_node("loop", [](const state_view& s) -> std::optional<state_update> {
    std::string text{s["value"].as_string()};
    if (text.size() >= 10)
      return std::nullopt;
    return state_update{{"value", text + text}};
  });
  g.subscribe("loop", {"value", "value"});
  BOOST_TEST(run(g.compile(), {{"value", "a"}})["value"] == value("aaaaaaaaaaaaaaaa"));
}

BOOST_AUTO_TEST_CASE(a_subscribed_node_may_have_edges_too) {
  state_graph<> g{{{"a", last_value}, {"log", append}}};
  for (const char* name : {"first", "listens", "last"})
    g.add_node(name, [name] { return state_update{{"log", words({name})}}; });
  g.add_edge(START, "first");
  g.subscribe("listens", {"a"});
  g.add_edge("listens", "last");
  BOOST_TEST(run(g.compile(), {{"a", 1}})["log"] == words({"first", "listens", "last"}));
  BOOST_TEST(run(g.compile(), {})["log"] == words({"first"}));
}

BOOST_AUTO_TEST_CASE(a_paused_graph_of_subscriptions_goes_on_where_it_was) {
  state_graph<> g{{{"a", last_value}, {"b", last_value}}};
  g.add_node("asks", [](const state_view&, context& ctx) {
    return state_update{{"b", ctx.interrupt("?")}};
  });
  g.subscribe("asks", {"a"});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke({{"a", 1}}, {.thread_id = "t"}).paused());
  BOOST_TEST(app.invoke(answer("yes"), {.thread_id = "t"}).value()["b"] == value("yes"));
  BOOST_TEST(app.get_state({.thread_id = "t"}).next.empty());
}

BOOST_AUTO_TEST_CASE(subscriptions_to_what_is_not_there_are_refused) {
  state_graph<> g{{{"a", last_value}, {"left", remaining_steps}}};
  g.add_node("n", [] {});
  auto refused = [&g](const char* node, std::vector<std::string> channels) {
    try {
      g.subscribe(node, channels);
      return std::string{};
    } catch (const error& e) {
      return e.message();
    }
  };
  BOOST_TEST(refused("nobody", {"a"}).find("`nobody`") != std::string::npos);
  BOOST_TEST(refused("n", {"nothing"}).find("`nothing`") != std::string::npos);
  BOOST_TEST(refused("n", {"left"}).find("managed") != std::string::npos);
  BOOST_TEST(!refused("n", {}).empty());
  BOOST_TEST(!g.try_compile().has_value()); // none of them took effect: there is no way in
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
