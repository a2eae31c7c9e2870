// Runs within runs: which state of theirs is stored, and for how long it lasts.
#include "tests/coordinator/nested_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;

/// Stored checkpoints of graphs within the root.
std::size_t checkpoints_within(saver& store, const std::string& thread_id) {
  auto all = store.list({.thread_id = thread_id}).value();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& tuple) {
    return !tuple.ref.checkpoint_ns.empty();
  }));
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_subgraph_state)

BOOST_DATA_TEST_CASE(a_graph_that_inherits_its_saver_starts_afresh_in_each_run,
                     data::make(all_ways), way) {
  state_graph<> in{{{"seen", sum}, {"x", last_value}}};
  in.add_node("n", [](const state_view& s) { return state_update{{"seen", 1}, {"x", s["seen"]}}; });
  in.add_edge(START, "n");
  runtime rt{with_memory()};
  auto app = rt.load(around({{"x", last_value}}, "inner", in.compile(), way));
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(app.invoke({}, {.thread_id = "t"}).value()["x"] == value(0));
}

BOOST_DATA_TEST_CASE(a_graph_with_a_state_per_thread_goes_on_where_its_last_run_ended,
                     data::make(all_ways), way) {
  state_graph<> in{{{"seen", sum}, {"x", last_value}}};
  in.add_node("n", [](const state_view& s) { return state_update{{"seen", 1}, {"x", s["seen"]}}; });
  in.add_edge(START, "n");
  auto inner = in.compile({.checkpointer = checkpointing::per_thread});
  runtime rt{with_memory()};
  auto app = rt.load(around({{"x", last_value}}, "inner", inner, way));
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(app.invoke({}, {.thread_id = "t"}).value()["x"] == value(i));
  BOOST_TEST(app.invoke({}, {.thread_id = "other"}).value()["x"] == value(0));
}

BOOST_DATA_TEST_CASE(a_state_per_thread_is_read_and_updated_by_the_namespace_of_the_task,
                     data::make(all_ways), way) {
  counter first{0}, last{0};
  auto inner = asking(first, last, {.checkpointer = checkpointing::per_thread});
  runtime rt{with_memory()};
  auto app = rt.load(around(x_and_steps, "inner", inner, way));
  app.invoke({}, {.thread_id = "t"});
  auto state = app.get_state({.thread_id = "t"}, true);
  BOOST_REQUIRE(state.tasks.size() == 1u);
  const auto& task = state.tasks[0];
  BOOST_TEST(task.subgraph_ns == "inner:" + task.id);
  BOOST_REQUIRE((task.state != nullptr));
  BOOST_TEST(task.state->config.checkpoint_ns == "inner");
  run_config inside{.thread_id = "t", .checkpoint_ns = task.subgraph_ns};
  BOOST_TEST(app.get_state(inside).values == task.state->values);
  BOOST_TEST(!app.get_state_history(inside).empty());
  app.update_state(inside, state_update{{"steps", 100}});
  BOOST_TEST(app.get_state(inside).values["steps"] == value(101));
  BOOST_TEST(app.get_state({.thread_id = "t", .checkpoint_ns = "inner"}).values["steps"]
             == value(101));
}

BOOST_DATA_TEST_CASE(a_graph_that_stores_nothing_begins_again_when_it_is_resumed,
                     data::make(all_ways), way) {
  counter first{0}, last{0};
  auto inner = asking(first, last, {.checkpointer = checkpointing::none});
  auto store = make_memory_saver();
  runtime rt{{.saver = store}};
  auto app = rt.load(around(x_and_steps, "inner", inner, way));
  BOOST_TEST(app.invoke({}, {.thread_id = "t"}).interrupts().size() == 1u);
  BOOST_TEST(app.invoke(answer("yes"), {.thread_id = "t"}).value()["x"] == value("yes"));
  BOOST_TEST(first == 2);
  BOOST_TEST(last == 1);
  for (const auto& tuple : store->list({.thread_id = "t"}).value())
    BOOST_TEST(tuple.ref.checkpoint_ns.empty());
}

BOOST_DATA_TEST_CASE(a_saver_of_its_own_serves_a_graph_only_where_it_is_the_root,
                     data::make(all_ways), way) {
  counter first{0}, last{0};
  auto own = make_memory_saver();
  auto outers = make_memory_saver();
  auto inner = asking(first, last, {.checkpointer = own});
  runtime rt{{.saver = outers}};
  auto app = rt.load(around(x_and_steps, "inner", inner, way));
  app.invoke({}, {.thread_id = "t"});
  app.invoke(answer("yes"), {.thread_id = "t"});
  BOOST_TEST(first == 1);
  BOOST_TEST(own->threads().value().empty());
  BOOST_TEST(checkpoints_within(*outers, "t") > 0u);
  rt.load(inner).invoke({}, {.thread_id = "root"});
  BOOST_TEST(own->threads().value().size() == 1u);
  BOOST_TEST(outers->threads().value().size() == 1u);
}

BOOST_DATA_TEST_CASE(a_checkpoint_of_an_inner_graph_that_cannot_be_stored_fails_the_root_run,
                     data::make(all_ways), way) {
  for (auto durable : {durability::sync, durability::async, durability::exit}) {
    counter first{0}, last{0}, refusals{1};
    auto refuses = [&refusals](const save_request& r) {
      return !r.ref.checkpoint_ns.empty() && r.put && refusals-- > 0;
    };
    runtime rt{{.saver = std::make_shared<picky_saver>(make_memory_saver(), refuses)}};
    auto app = rt.load(around(x_and_steps, "inner", asking(first, last), way));
    run_config config{.thread_id = "t", .durability = durable};
    auto how = app.try_invoke({}, config);
    BOOST_REQUIRE((code_of(how) == errc::storage_full));
    // The thread continues where the root was, or starts when not even that was stored.
    bool fresh = app.get_state(config).config.checkpoint_id.empty();
    auto paused = app.invoke(fresh ? run_input{} : run_input{nullptr}, config);
    BOOST_TEST(paused.interrupts().size() == 1u);
    auto out = app.invoke(answer("yes"), config).value();
    BOOST_TEST(to_json(out) == R"({"steps":3,"x":"yes"})");
    BOOST_TEST(last == 1);
  }
}

// A graph that keeps its state for the thread has one state, which two tasks can't share.
BOOST_AUTO_TEST_CASE(two_tasks_of_a_step_do_not_share_a_state_per_thread) {
  counter first = 0, last = 0;
  auto sends_twice = [&](checkpointing how) {
    state_graph<> g{{{"x", append}, {"steps", sum}}};
    g.add_node("inner", asking(first, last, {.checkpointer = how}));
    g.add_conditional_edges(START, [] {
      return destinations{std::vector<send>{{"inner", value::map()}, {"inner", value::map()}}};
    });
    return g.compile({.name = "twice"});
  };
  runtime rt{with_memory()};
  auto app = rt.load(sends_twice(checkpointing::per_thread));
  for (int i = 0; i < 2; ++i) { // nor when the thread is resumed
    auto how = i == 0 ? app.try_invoke(value::map(), {.thread_id = "t"})
                      : app.try_invoke(nullptr, {.thread_id = "t"});
    BOOST_TEST((code_of(how) == errc::invalid_graph));
    BOOST_TEST(how.error().message().find("`inner`") != std::string::npos);
  }
  BOOST_TEST(first == 0);
  auto each = rt.load(sends_twice(checkpointing::inherit));
  BOOST_TEST(each.try_invoke(value::map(), {.thread_id = "u"}).value().interrupts().size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
