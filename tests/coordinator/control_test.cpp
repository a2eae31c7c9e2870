// Runs that are asked to stop or to pause: drains and breakpoints, also inside graphs and
// workflows, who hears of them, and the bounds of a run.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

/// first → second; `first` asks for a drain, once.
compiled_graph drains(counter& first, counter& second, compile_options options = {}) {
  state_graph<> g{log_only};
  g.add_node("first", [&first](context& ctx) {
    if (++first == 1)
      ctx.request_drain("enough");
    return log("first");
  });
  g.add_node("second", [&second] {
    ++second;
    return log("second");
  });
  g.add_edge(START, "first");
  g.add_edge("first", "second");
  return g.compile(std::move(options));
}

/// Records its calls.
struct listener : lifecycle_callbacks {
  void on_resume(const event& what) override { told.push_back("resume " + what.thread_id); }
  void on_interrupt(const event& what) override {
    told.push_back(what.status + " " + std::to_string(what.interrupts.size()));
  }
  std::vector<std::string> told;
};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_control)

// ---- drains ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_drained_run_ends_behind_the_step_in_which_it_was_asked_and_goes_on_later) {
  for (auto durable : {durability::sync, durability::async, durability::exit}) {
    counter first{0}, second{0};
    runtime rt{with_memory()};
    auto app = rt.load(drains(first, second));
    run_config config{.thread_id = "t", .durability = durable};
    auto how = app.try_invoke({}, config);
    BOOST_REQUIRE((code_of(how) == errc::graph_drained));
    BOOST_TEST(how.error().message() == "Graph drained: enough");
    BOOST_TEST(second == 0);
    BOOST_TEST(app.invoke(nullptr, config).value()["log"] == words({"first", "second"}));
    BOOST_TEST(first == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_is_done_when_it_is_drained_ends_as_always) {
  run_control control;
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([&control](const std::string& node) {
    if (node == "c")
      control.request_drain();
  }));
  auto how = app.try_invoke({}, {.thread_id = "t", .control = control});
  BOOST_TEST((code_of(how) == errc::ok));
}

BOOST_AUTO_TEST_CASE(a_breakpoint_comes_before_a_drain_and_the_result_says_so) {
  counter first{0}, second{0};
  runtime rt{with_memory()};
  auto app = rt.load(drains(first, second));
  auto paused = app.invoke({}, {.thread_id = "t", .interrupt_before = {"second"}});
  BOOST_TEST(paused.paused());
  BOOST_TEST(paused.drained() == "enough");
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == words({"first", "second"}));
}

BOOST_DATA_TEST_CASE(a_drain_inside_a_graph_ends_the_root_run_and_both_go_on_later,
                     data::make({false, true}), called) {
  counter first{0}, second{0}, bodies{0}, handled{0};
  auto inner = drains(first, second);
  node_options options;
  options.lane = lane::blocking;
  options.retry_policy = retry_policy{.initial_interval = 0ns,
                                      .jitter = false,
                                      .retry_on = retry_filter{[](const error&) { return true; }}};
  options.error_handler = [&handled] { ++handled; };
  state_graph<> g{log_only};
  if (called)
    g.add_node(
      "inner",
      [&bodies, inner](context& ctx) {
        ++bodies;
        return ctx.invoke(inner);
      },
      options);
  else
    g.add_node("inner", inner, options);
  g.add_node("behind", [] { return log("behind"); });
  g.add_edge(START, "inner");
  g.add_edge("inner", "behind");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto how = app.try_invoke({}, {.thread_id = "t"});
  BOOST_TEST((code_of(how) == errc::graph_drained));
  BOOST_TEST(second == 0);
  BOOST_TEST(handled == 0); // a stop that was asked for is no failure,
  BOOST_TEST(bodies <= 1);  // and not to be tried again
  auto out = app.invoke(nullptr, {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == words({"first", "second", "behind"}));
  BOOST_TEST(first == 1);
}

BOOST_AUTO_TEST_CASE(a_workflow_that_is_drained_runs_the_tasks_it_starts_to_the_end) {
  counter ran{0};
  auto drain = task("drain", [&ran](int n, context& ctx) {
    ++ran;
    ctx.request_drain("from a task");
    return n;
  });
  auto flow = entrypoint("flow", [drain](const value&, context& ctx) {
    auto one = drain(ctx, 1).get();
    return one + drain(ctx, 2).get();
  });
  runtime rt{with_memory()};
  BOOST_TEST(rt.load(flow).invoke({}, {.thread_id = "t"}).value() == value(3));
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(a_failure_beside_a_drain_is_what_the_run_ends_with) {
  state_graph<> g{log_only};
  g.add_node("drains", [](context& ctx) { ctx.request_drain("x"); });
  g.add_node("fails", []() -> state_update { throw std::out_of_range{"boom"}; });
  g.add_node("behind", [] {});
  for (const char* name : {"drains", "fails"}) {
    g.add_edge(START, name);
    g.add_edge(name, "behind");
  }
  runtime rt{with_memory()};
  auto how = rt.load(g.compile()).try_invoke({}, {.thread_id = "t"});
  BOOST_REQUIRE((code_of(how) == errc::node_failed));
  BOOST_TEST(how.error().type() == "std::out_of_range");
}

// ---- breakpoints ----------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_breakpoint_inside_a_graph_pauses_the_root_run, data::make({false, true}),
                     called) {
  counter first{1}, second{0}; // no drain
  compile_options stops;
  stops.interrupt_before = {"second"};
  auto inner = drains(first, second, stops);
  state_graph<> g{log_only};
  if (called)
    g.add_node("inner", [inner](context& ctx) { return ctx.invoke(inner); },
               {.lane = lane::blocking});
  else
    g.add_node("inner", inner);
  g.add_edge(START, "inner");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto paused = app.invoke({}, {.thread_id = "t"});
  BOOST_TEST(paused.paused());
  BOOST_TEST(paused.interrupts().empty());
  BOOST_TEST(second == 0);
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == words({"first", "second"}));
  BOOST_TEST(first == 2);
}

BOOST_AUTO_TEST_CASE(listeners_hear_of_pauses_and_resumptions_of_the_root_run_once) {
  state_graph<> in{log_only};
  in.add_node("asks", [](context& ctx) { return log(ctx.interrupt("?").as<std::string>()); });
  in.add_edge(START, "asks");
  state_graph<> g{log_only};
  g.add_node("inner", in.compile());
  g.add_node("behind", [] { return log("behind"); });
  g.add_edge(START, "inner");
  g.add_edge("inner", "behind");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto heard = std::make_shared<listener>();
  run_config config{.thread_id = "t", .interrupt_before = {"behind"}, .callbacks = heard};
  app.invoke({}, config);
  app.invoke(answer("yes"), config);
  app.invoke(nullptr, config);
  const std::vector<std::string> expected{"pending 1", "resume t", "interrupt_before 0",
                                          "resume t"};
  BOOST_TEST(heard->told == expected, boost::test_tools::per_element());
}

// ---- bounds ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_recursion_limit_counts_the_steps_of_each_graph_by_itself) {
  auto in = three_nodes([](const auto&) {});
  state_graph<> g{log_only};
  g.add_node("inner", in);
  g.add_edge(START, "inner");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto code = [&](const char* thread, std::uint32_t limit) {
    return code_of(app.try_invoke({}, {.thread_id = thread, .recursion_limit = limit}));
  };
  BOOST_TEST((code("t4", 4) == errc::ok)); // START and three nodes
  BOOST_TEST((code("t3", 3) == errc::graph_recursion));
}

BOOST_AUTO_TEST_CASE(a_run_that_says_nothing_of_its_steps_has_those_of_its_graph) {
  auto loop = [](compile_options options) {
    state_graph<> g{log_only};
    g.add_node("again", [] { return log("x"); });
    g.add_edge(START, "again");
    g.add_edge("again", "again");
    return g.compile(std::move(options));
  };
  auto rounds = [](const compiled_graph& graph, const run_config& config) {
    runtime rt{with_memory()};
    auto app = rt.load(graph);
    BOOST_TEST((code_of(app.try_invoke({}, config)) == errc::graph_recursion));
    return app.get_state({.thread_id = config.thread_id}).values["log"].size();
  };
  BOOST_TEST(rounds(loop({}), {.thread_id = "t"}) == limits::recursion_limit_default);
  BOOST_TEST(rounds(loop({.recursion_limit = 40}), {.thread_id = "t"}) == 40u);
  BOOST_TEST(rounds(loop({.recursion_limit = 40}), {.thread_id = "t", .recursion_limit = 7}) == 7u);
  state_graph<> outer{log_only};
  outer.add_node("inner", loop({.recursion_limit = 40}));
  outer.add_edge(START, "inner");
  runtime rt{with_memory()};
  auto app = rt.load(outer.compile({.recursion_limit = 5}));
  auto how = app.try_invoke({}, {.thread_id = "t"});
  BOOST_TEST((code_of(how) == errc::graph_recursion));
  BOOST_TEST(how.error().message().find("Recursion limit of 5") != std::string::npos);
  BOOST_CHECK_THROW(loop({.recursion_limit = 0}), error);
}

BOOST_AUTO_TEST_CASE(a_bound_on_concurrency_is_kept_and_changes_no_result) {
  counter now{0}, most{0};
  state_graph<> g{log_only};
  g.add_node("w",
             [&](const value& i) {
               auto running = ++now;
               for (auto seen = most.load(); running > seen;)
                 if (most.compare_exchange_weak(seen, running))
                   break;
               std::this_thread::yield();
               --now;
               return state_update{{"log", value::list({i})}};
             },
             {.lane = lane::blocking});
  g.add_conditional_edges(START, [](const state_view&) {
    std::vector<send> out;
    for (int i = 0; i < 50; ++i)
      out.push_back({"w", value(i)});
    return out;
  });
  runtime rt;
  auto app = rt.load(g.compile());
  for (int bound = 1; bound < 4; ++bound) {
    most = 0;
    auto out = app.invoke({}, {.max_concurrency = static_cast<std::uint32_t>(bound)}).value();
    BOOST_TEST(out["log"].size() == 50u);
    BOOST_TEST(out["log"][49] == value(49));
    BOOST_TEST(most <= bound);
  }
}

// A task that a body waits for must not count, or the body would wait for ever.
BOOST_AUTO_TEST_CASE(tasks_that_bodies_start_run_beyond_the_bound_on_concurrency) {
  auto leaf = task("leaf", [](int n) { return n; });
  auto branch = task("branch", [leaf](int n, context& ctx) { return leaf(ctx, n).get(); });
  auto flow = entrypoint("flow", [branch](const value&, context& ctx) {
    auto a = branch(ctx, 1), b = branch(ctx, 2);
    return a.get() + b.get();
  });
  runtime rt;
  BOOST_TEST(rt.load(flow).invoke({}, {.max_concurrency = 1}).value() == value(3));
}

#ifndef TROUPE_SANITIZE // a million tasks, planned: 1 GB
BOOST_AUTO_TEST_CASE(a_step_of_more_tasks_than_the_bound_is_refused_before_any_of_them_runs) {
  counter ran{0};
  state_graph<> g{{{"n", last_value}, {"done", sum}}};
  g.add_node("w", [&ran](const value&) { ++ran; });
  g.add_conditional_edges(START, [](const state_view& s) {
    return std::vector<send>(static_cast<std::size_t>(s["n"].as_int()), send{"w", value(0)});
  });
  runtime rt;
  auto app = rt.load(g.compile());
  auto bound = static_cast<std::int64_t>(limits::tasks_per_step_max);
  auto how = app.try_invoke({{"n", bound + 1}});
  BOOST_REQUIRE((code_of(how) == errc::overloaded));
  BOOST_TEST(how.error().message().find("tasks_per_step_max") != std::string::npos);
  BOOST_TEST(ran == 0);
}
#endif

namespace {

/// Ten tasks, the third of which fails while `broken`; counts them.
compiled_graph ten_tasks(std::atomic<bool>& broken, counter& ran, compile_options options) {
  state_graph<> g{log_only};
  g.add_node("w", [&](const value& i) {
    ++ran;
    if (broken && i == value(2))
      throw node_error{"Broken", "no"};
    return log(i);
  });
  g.add_conditional_edges(START, [](const state_view&) {
    std::vector<send> out;
    for (int i = 0; i < 10; ++i)
      out.push_back({"w", value(i)});
    return out;
  });
  return g.compile(std::move(options));
}

} // namespace

BOOST_AUTO_TEST_CASE(tasks_that_wait_for_their_turn_do_not_begin_after_a_failure) {
  for (auto when : {durability::sync, durability::async, durability::exit}) {
    std::atomic<bool> broken{true};
    counter ran{0};
    runtime rt{with_memory()};
    auto app = rt.load(ten_tasks(broken, ran, {}));
    const run_config config{.thread_id = "t", .durability = when, .max_concurrency = 1};
    auto how = app.try_invoke({}, config);
    BOOST_REQUIRE(!how);
    BOOST_TEST(how.error().type() == "Broken");
    BOOST_TEST(ran == 3);
    broken = false; // the finished ones are stored, the others run now
    auto log = app.invoke(nullptr, config).value()["log"];
    BOOST_TEST(ran == 3 + 8);
    BOOST_REQUIRE(log.size() == 10u);
    for (int i = 0; i < 10; ++i)
      BOOST_TEST(log[static_cast<std::size_t>(i)] == value(i));
  }
}

BOOST_AUTO_TEST_CASE(a_graph_may_finish_the_step_of_a_failure) {
  std::atomic<bool> broken{true};
  counter ran{0};
  runtime rt;
  auto app = rt.load(ten_tasks(broken, ran, {.finish_steps = true}));
  BOOST_TEST((code_of(app.try_invoke({}, {.max_concurrency = 1})) == errc::node_failed));
  BOOST_TEST(ran == 10);
}

BOOST_AUTO_TEST_CASE(a_failure_that_a_handler_takes_over_keeps_no_task_from_beginning) {
  counter ran{0};
  state_graph<> g{log_only};
  g.add_node("w",
             [&ran](const value& i) {
               ++ran;
               if (i == value(0))
                 throw node_error{"Broken", "no"};
               return log(i);
             },
             {.error_handler = [](context&) { return log("handled"); }});
  g.add_conditional_edges(START, [](const state_view&) {
    return std::vector<send>{{"w", value(0)}, {"w", value(1)}, {"w", value(2)}};
  });
  runtime rt;
  auto out = rt.load(g.compile()).invoke({}, {.max_concurrency = 1});
  BOOST_TEST(ran == 3);
  BOOST_TEST(out.value()["log"].size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_plain_answer_to_several_questions_is_ambiguous_strictly_or_not) {
  state_graph<> g{log_only};
  for (const char* name : {"p", "q"}) {
    g.add_node(name, [](const state_view&, context& ctx) { return log(ctx.interrupt("?")); });
    g.add_edge(START, name);
  }
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  app.invoke(value::map(), {.thread_id = "t"});
  for (bool strict : {false, true}) {
    auto how = app.try_invoke(answer("R"), {.thread_id = "t", .strict_resume = strict});
    BOOST_REQUIRE(!how);
    BOOST_TEST((how.error().code() == errc::ambiguous_resume));
    BOOST_TEST(reference_name(how.error()) == (strict ? "UnknownInterruptError" : "RuntimeError"));
  }
}

BOOST_AUTO_TEST_CASE(an_answer_without_a_saver_lacks_the_saver) {
  runtime rt;
  auto how = rt.load(three_nodes([](const auto&) {})).try_invoke(answer("R"));
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::no_saver));
  BOOST_TEST(reference_name(how.error()) == "RuntimeError");
}

BOOST_AUTO_TEST_CASE(a_breakpoint_at_an_error_handler_is_refused_by_every_way) {
  state_graph<> g{log_only};
  g.add_node("x", [](const state_view&) { return log("x"); },
             {.error_handler = {[](const state_view&) { return log("handled"); }}});
  g.add_edge(START, "x");
  const std::vector<std::string> handler{"__error_handler__x"};
  BOOST_TEST(!g.try_compile({.interrupt_before = handler}).has_value());
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  for (bool before : {false, true}) {
    run_config config{.thread_id = "t"};
    (before ? config.interrupt_before : config.interrupt_after) = handler;
    auto how = app.try_invoke(value::map(), config);
    BOOST_REQUIRE(!how);
    BOOST_TEST((how.error().code() == errc::invalid_config));
    BOOST_TEST(how.error().message() == "Interrupt node `__error_handler__x` not found");
  }
}

BOOST_AUTO_TEST_CASE(a_stored_failure_has_the_text_of_its_exception_alone) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const std::string& node) {
    if (node == "b")
      throw node_error{"ConnectionError", "I'm not good"};
  }));
  auto how = app.try_invoke(value::map(), {.thread_id = "t"});
  BOOST_REQUIRE(!how);
  BOOST_TEST(how.error().message()
             == "node `b` of graph `three` failed: ConnectionError: I'm not good");
  auto now = app.get_state({.thread_id = "t"});
  BOOST_REQUIRE(now.tasks.size() == 1u);
  BOOST_TEST(now.tasks[0].error.payload()["message"] == value("I'm not good"));
  BOOST_TEST(now.tasks[0].error.payload()["type"] == value("ConnectionError"));
}

BOOST_AUTO_TEST_CASE(a_pushed_message_without_an_id_is_a_value_error) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("a", [](const state_view&, context& ctx) { ctx.push_message(ai_message("hi")); });
  g.add_edge(START, "a");
  runtime rt;
  auto how = rt.load(g.compile()).try_invoke(value::map());
  BOOST_REQUIRE(!how);
  BOOST_TEST(reference_name(how.error()) == "ValueError");
  BOOST_TEST((how.error().code() == errc::invalid_update));
}

BOOST_AUTO_TEST_CASE(several_steps_of_updates_have_a_form_that_throws) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  const run_config config{.thread_id = "t"};
  auto at = app.bulk_update_state(config, {{{log("x"), "a"}}, {{log("y"), "b"}}});
  auto now = app.get_state(config);
  BOOST_TEST(now.config.checkpoint_id == at.checkpoint_id);
  BOOST_TEST(now.values["log"] == words({"x", "y"}));
  BOOST_CHECK_EXCEPTION(app.bulk_update_state(config, {}), error,
                        [](const error& e) { return e.code() == errc::invalid_config; });
}

BOOST_AUTO_TEST_CASE(answers_by_id_are_given_in_braces_and_null_answers_nothing) {
  state_graph<> g{log_only};
  for (const char* name : {"left", "right"}) {
    g.add_node(name, [name](context& ctx) {
      return log(std::string{name} + ' ' + ctx.interrupt(name).as<std::string>());
    });
    g.add_edge(START, name);
  }
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  const run_config config{.thread_id = "t"};
  auto asked = app.invoke({}, config).interrupts();
  BOOST_REQUIRE(asked.size() == 2u);
  auto silent = app.try_invoke(command{.resume = value{}}, config);
  BOOST_REQUIRE(!silent);
  BOOST_TEST((silent.error().code() == errc::empty_input));
  auto left = app.invoke(command{.resume = {{asked[0].id, "A"}}}, config).interrupts();
  BOOST_REQUIRE(left.size() == 1u);
  BOOST_TEST(left[0].id == asked[1].id);
  auto done = app.invoke(command{.resume = {{asked[1].id, "B"}}}, config);
  BOOST_TEST(done.value()["log"] == words({"left A", "right B"}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
