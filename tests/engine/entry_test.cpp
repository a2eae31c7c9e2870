// How a run enters a thread and what it leaves: answers that are used once, commands on fresh
// threads, forks, what a run shows at its end.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>

namespace troupe {
namespace {

/// Asks `questions` times and logs the answers.
void add_asking(state_graph<>& g, const char* name, int questions) {
  g.add_node(name, [questions](const state_view&, context& ctx) {
    std::vector<value> answers;
    for (int i = 0; i < questions; ++i)
      answers.push_back(ctx.interrupt(i));
    return state_update{{"log", value::list(std::move(answers))}};
  });
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_entry)

// START runs inline and plans a step of two tasks, at which the run pauses.
BOOST_DATA_TEST_CASE(a_run_pauses_before_a_step_of_several_tasks, boost::unit_test::data::xrange(3),
                     durable) {
  state_graph<> g{{{"log", append}}};
  for (const char* name : {"a", "b"}) {
    g.add_node(name, [name] { return log(name); });
    g.add_edge(START, name);
  }
  runtime rt{with_memory()};
  auto app = rt.load(g.compile({.interrupt_before = {"b"}}));
  run_config config{.thread_id = "t", .durability = static_cast<durability>(durable)};
  BOOST_TEST(app.invoke({}, config).paused());
  BOOST_TEST(app.invoke(nullptr, config).value()["log"] == words({"a", "b"}));
}

BOOST_DATA_TEST_CASE(a_plain_answer_that_a_graph_further_in_took_answers_nothing_else,
                     boost::unit_test::data::xrange(3), durable) {
  state_graph<> in{{{"log", append}}};
  add_asking(in, "asks", 2);
  in.add_edge(START, "asks");
  state_graph<> g{{{"log", append}}};
  g.add_node("graph", in.compile());
  g.add_edge(START, "graph");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  run_config config{.thread_id = "t", .durability = static_cast<durability>(durable)};
  app.invoke({}, config);
  BOOST_TEST(app.invoke(answer("first"), config).paused());
  auto again = app.invoke(nullptr, config); // no answer: the second question waits on
  BOOST_REQUIRE(again.interrupts().size() == 1u);
  BOOST_TEST(again.interrupts()[0].value == value(1));
  BOOST_TEST(app.invoke(answer("second"), config).value()["log"] == words({"first", "second"}));
}

namespace {

// Two questions in one node, which may fail before it asks.
compiled_graph asks_twice(std::atomic<bool>& fails) {
  state_graph<> g{{{"log", append}}};
  g.add_node("asks", [&fails](const state_view&, context& ctx) {
    if (fails)
      throw std::runtime_error{"no"};
    auto first = ctx.interrupt(0), second = ctx.interrupt(1);
    return state_update{{"log", value::list({first, second})}};
  });
  g.add_edge(START, "asks");
  return g.compile();
}

} // namespace

// The run that brought it failed before anything asked; whichever run takes it, uses it up.
BOOST_DATA_TEST_CASE(a_stored_answer_is_used_once_whatever_the_durability_of_who_takes_it,
                     boost::unit_test::data::xrange(3), durable) {
  std::atomic<bool> fails{false};
  runtime rt{with_memory()};
  auto app = rt.load(asks_twice(fails));
  run_config config{.thread_id = "t", .durability = durability::sync};
  app.invoke({}, config);
  fails = true;
  BOOST_TEST(!app.try_invoke(answer("stored"), config).has_value());
  fails = false;
  auto taker = config;
  taker.durability = static_cast<durability>(durable);
  for (const auto& how : {taker, config}) {
    auto paused = app.invoke(nullptr, how);
    BOOST_REQUIRE(paused.interrupts().size() == 1u);
    BOOST_TEST(paused.interrupts()[0].value == value(1));
  }
  BOOST_TEST(app.invoke(answer("second"), config).value()["log"] == words({"stored", "second"}));
}

// Answers by id are for one run, a stored plain one stays for the run after it.
BOOST_DATA_TEST_CASE(a_stored_answer_waits_through_a_run_that_brings_answers_by_id,
                     boost::unit_test::data::xrange(3), durable) {
  std::atomic<bool> fails{false};
  runtime rt{with_memory()};
  auto app = rt.load(asks_twice(fails));
  run_config config{.thread_id = "t", .durability = static_cast<durability>(durable)};
  auto asked = app.invoke({}, config);
  BOOST_REQUIRE(asked.interrupts().size() == 1u);
  fails = true;
  BOOST_TEST(!app.try_invoke(answer("stored"), config).has_value());
  fails = false;
  auto by_id = app.invoke(answer(value::map({{asked.interrupts()[0].id, "by id"}})), config);
  BOOST_REQUIRE(by_id.interrupts().size() == 1u);
  BOOST_TEST(by_id.interrupts()[0].value == value(1));
  BOOST_TEST(app.invoke(nullptr, config).value()["log"] == words({"by id", "stored"}));
}

BOOST_AUTO_TEST_CASE(a_plain_answer_that_no_task_of_its_step_took_is_forgotten) {
  std::atomic<bool> asks_first{true};
  state_graph<> g{{{"log", append}}};
  g.add_node("first", [&asks_first](const state_view&, context& ctx) {
    if (asks_first)
      ctx.interrupt("first?");
    return log("first");
  });
  add_asking(g, "second", 1);
  g.add_edge(START, "first");
  g.add_edge("first", "second");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  app.invoke({}, {.thread_id = "t"});
  asks_first = false;
  auto paused = app.invoke(answer("for the first"), {.thread_id = "t"});
  BOOST_TEST(paused.interrupts().size() == 1u);
  BOOST_TEST(paused.value()["log"] == words({"first"}));
}

BOOST_AUTO_TEST_CASE(a_command_on_a_fresh_thread_goes_where_it_says_beside_the_entry_edges) {
  state_graph<> g{{{"log", append}, {"x", last_value}}};
  for (const char* name : {"a", "z"})
    g.add_node(name, [name] { return log(name); });
  g.add_edge(START, "a");
  runtime rt{with_memory()};
  command c;
  c.update = state_update{{"x", 42}};
  c.goto_ = "z";
  auto out = rt.load(g.compile()).invoke(c, {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == words({"a", "z"}));
  BOOST_TEST(out["x"] == value(42));
}

BOOST_AUTO_TEST_CASE(the_output_is_what_was_shown_last_even_if_a_channel_has_forgotten_it) {
  state_graph<> g{{{"note", any_value}}};
  g.add_node("writes", [] { return state_update{{"note", "read me"}}; });
  g.add_node("writes_nothing", [] {});
  g.add_edge(START, "writes");
  g.add_edge("writes", "writes_nothing");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke({}, {.thread_id = "t"}).value()["note"] == value("read me"));
  BOOST_TEST(!app.get_state({.thread_id = "t"}).values.contains("note"));
}

BOOST_AUTO_TEST_CASE(what_a_finished_task_s_node_is_made_to_write_beside_its_own_writes_is_kept) {
  state_graph<> g{{{"d", delta(append)}}};
  g.add_node("done", [] {});
  g.add_node("fails", []() -> state_update { throw std::runtime_error{"no"}; });
  g.add_edge(START, "done");
  g.add_edge(START, "fails");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  run_config config{.thread_id = "t"};
  BOOST_TEST(!app.try_invoke({}, config).has_value());
  app.update_state(config, state_update{{"d", words({"by hand"})}}, "done");
  BOOST_TEST(app.get_state(config).values["d"] == words({"by hand"}));
}

BOOST_AUTO_TEST_CASE(an_answer_at_a_superseded_checkpoint_need_not_answer_anything) {
  state_graph<> g{{{"log", append}}};
  add_asking(g, "asks", 1);
  g.add_edge(START, "asks");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto asked = app.invoke({}, {.thread_id = "t"}).checkpoint_id();
  app.invoke(answer("one"), {.thread_id = "t"});
  auto by_id = answer(value::map({{std::string(32, '0'), "nobody asked"}}));
  auto old = app.try_invoke(by_id, {.thread_id = "t", .checkpoint_id = asked});
  BOOST_TEST((code_of(old) == errc::ok));
  auto head = app.try_invoke(by_id, {.thread_id = "t"});
  BOOST_TEST((code_of(head) == errc::unknown_interrupt));
}

// ---- one writer a thread ----------------------------------------------------------------------

namespace {

/// Logs "a", waits at a gate, logs "b".
compiled_graph held_in_the_middle(gate& hold) {
  state_graph<> g{{{"log", append}}};
  g.add_node("a", [] { return log("a"); });
  g.add_node("b",
             [&hold] {
               hold.pass();
               return log("b");
             },
             {.lane = lane::blocking});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  return g.compile();
}

} // namespace

BOOST_DATA_TEST_CASE(a_run_that_another_one_overtook_on_its_thread_stores_nothing_more,
                     boost::unit_test::data::xrange(2) * boost::unit_test::data::xrange(3),
                     other_runtime, durable) {
  gate hold;
  auto store = make_memory_saver();
  runtime rt{{.saver = store}}, second{{.saver = store}};
  auto graph = held_in_the_middle(hold);
  auto app = rt.load(graph);
  auto other = other_runtime != 0 ? second.load(graph) : app;
  run_config config{.thread_id = "t", .durability = static_cast<durability>(durable)};
  auto slow = app.start({}, config);
  hold.wait_for(1);
  auto updated = other.update_state({.thread_id = "t"}, state_update{{"log", words({"by hand"})}},
                                    "a");
  hold.open();
  auto how = slow.get();
  BOOST_REQUIRE((code_of(how) == errc::conflict));
  BOOST_TEST(how.error().message().find("`t`") != std::string::npos);
  auto state = app.get_state({.thread_id = "t"});
  BOOST_TEST(state.config.checkpoint_id == updated.checkpoint_id);
  BOOST_TEST(state.next == std::vector<std::string>{"b"}, boost::test_tools::per_element());
  BOOST_TEST(app.invoke(nullptr, config).value()["log"].items().back() == value("b"));
}

BOOST_AUTO_TEST_CASE(a_run_whose_thread_is_deleted_ends_and_leaves_it_deleted) {
  gate hold;
  auto store = make_memory_saver();
  runtime rt{{.saver = store}};
  auto run = rt.load(held_in_the_middle(hold)).start({}, {.thread_id = "t"});
  hold.wait_for(1);
  store->delete_thread("t").value();
  hold.open();
  BOOST_TEST((code_of(run.get()) == errc::conflict));
  BOOST_TEST(store->threads().value().empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
