// Runs within runs, workflows, and what a task goes through when it fails.
#include "tests/coordinator_fixture.hpp"

#include <troupe/actor.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <map>

namespace troupe {
namespace {

using namespace std::chrono_literals;

schema log_schema() {
  return schema{{"log", append}};
}

state_update logged(const char* text) {
  return state_update{{"log", words({text})}};
}

template <class F>
compiled_graph one_node(F body, node_options options = {}, const char* name = "one") {
  state_graph<> g{log_schema()};
  g.add_node("n", std::move(body), std::move(options));
  g.add_edge(START, "n");
  return g.compile({.name = name});
}

compiled_graph asks(const char* question) {
  return one_node(
    [question](const state_view&, context& ctx) {
      auto answer = ctx.interrupt(question);
      return logged(answer == value("yes") ? "yes" : "no");
    },
    {}, "asks");
}

runtime_options in_memory() {
  return {.saver = make_memory_saver()};
}

// -- subgraphs

BOOST_AUTO_TEST_SUITE(coordinator_engine)

BOOST_AUTO_TEST_CASE(a_question_in_a_subgraph_is_the_parents_question_and_its_state_can_be_read) {
  state_graph<> g{log_schema()};
  g.add_node("sub", asks("sure?"));
  g.add_edge(START, "sub");
  runtime rt{in_memory()};
  auto app = rt.load(g.compile());
  run_config t{.thread_id = "t"};
  auto paused = app.invoke({}, t);
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  BOOST_TEST((paused.next == std::vector<std::string>{"sub"}));
  auto state = app.get_state(t, true);
  BOOST_REQUIRE(state.tasks.size() == 1u);
  BOOST_REQUIRE(state.tasks[0].state);
  BOOST_TEST((state.tasks[0].state->next == std::vector<std::string>{"n"}));
  auto done = app.invoke(command{.resume = value::map({{paused.interrupts()[0].id, "yes"}})}, t);
  BOOST_TEST(done.value()["log"] == words({"yes"}));
}

BOOST_AUTO_TEST_CASE(a_body_calls_a_graph_in_either_lane_and_a_standard_body_is_told_how) {
  auto inner = one_node([] { return logged("in"); });
  runtime rt;
  auto blocking = rt.load(
    one_node([inner](const state_view&, context& ctx) { return state_update{ctx.invoke(inner)}; },
             {.lane = lane::blocking}));
  BOOST_TEST(blocking.invoke({}).value()["log"] == words({"in"}));
  auto suspended = rt.load(one_node([inner](const state_view&, context& ctx) -> coro<value> {
    auto first = ctx.run(inner);
    auto a = co_await first;
    auto second = ctx.run(inner);
    auto b = co_await second;
    co_return value::map({{"log", a["log"].append_all(b["log"].items())}});
  }));
  BOOST_TEST(suspended.invoke({}).value()["log"] == words({"in", "in"}));
  auto standard = rt.load(
    one_node([inner](const state_view&, context& ctx) { return state_update{ctx.invoke(inner)}; }));
  auto refused = standard.try_invoke({});
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::invalid_graph));
  BOOST_TEST(refused.error().message().find("lane::blocking") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_command_reaches_the_graph_it_names_two_levels_up) {
  auto far_up = one_node(
    [] {
      command c;
      c.update = logged("from below");
      c.goto_ = "last";
      c.graph = "top";
      return c;
    },
    {}, "bottom");
  state_graph<> middle{log_schema()};
  middle.add_node("down", far_up);
  middle.add_node("never", [] { return logged("never"); });
  middle.add_edge(START, "down");
  middle.add_edge("down", "never");
  state_graph<> top{log_schema()};
  top.add_node("m", middle.compile({.name = "middle"}));
  top.add_node("last", [] { return logged("last"); });
  top.add_edge(START, "m");
  runtime rt;
  auto out = rt.load(top.compile({.name = "top"})).invoke({}).value();
  BOOST_TEST(out["log"] == words({"from below", "last"}));
}

BOOST_AUTO_TEST_CASE(a_subgraph_keeps_its_state_as_its_checkpointing_says) {
  for (auto kind : {checkpointing::inherit, checkpointing::per_thread, checkpointing::none}) {
    state_graph<> inner{{{"count", sum}, {"seen", last_value}}};
    inner.add_node("n", [](const state_view& s) {
      return state_update{{"count", 1}, {"seen", s["count"]}};
    });
    inner.add_edge(START, "n");
    state_graph<> g{{{"seen", last_value}}};
    g.add_node("sub", inner.compile({.checkpointer = kind}));
    g.add_edge(START, "sub");
    runtime rt{in_memory()};
    auto app = rt.load(g.compile());
    app.invoke({}, {.thread_id = "t"});
    auto again = app.invoke({}, {.thread_id = "t"}).value();
    BOOST_TEST(again["seen"] == value(kind == checkpointing::per_thread ? 1 : 0));
  }
}

BOOST_AUTO_TEST_CASE(time_travel_to_a_checkpoint_of_a_subgraph_goes_on_there) {
  std::map<std::string, int> ran;
  state_graph<> inner{log_schema()};
  for (const char* name : {"a", "b"})
    inner.add_node(name, [&ran, name] {
      ++ran[name];
      return logged(name);
    });
  inner.add_node("ask", [](const state_view&, context& ctx) {
    ctx.interrupt("?");
    return logged("asked");
  });
  inner.add_edge(START, "a");
  inner.add_edge("a", "b");
  inner.add_edge("b", "ask");
  state_graph<> g{log_schema()};
  g.add_node("sub", inner.compile());
  g.add_edge(START, "sub");
  runtime rt{in_memory()};
  auto app = rt.load(g.compile());
  run_config t{.thread_id = "t"};
  app.invoke({}, t);
  auto ns = app.get_state(t).tasks.at(0).subgraph_ns;
  auto history = app.get_state_history({.thread_id = "t", .checkpoint_ns = ns});
  BOOST_REQUIRE(history.size() == 4u); // input, start, a, b
  BOOST_TEST((history[1].next == std::vector<std::string>{"b"}));
  auto again = app.invoke(nullptr, {.thread_id = "t",
                                    .checkpoint_id = history[1].config.checkpoint_id,
                                    .checkpoint_ns = ns});
  BOOST_TEST(again.paused());
  BOOST_TEST(ran["a"] == 1);
  BOOST_TEST(ran["b"] == 2);
}

BOOST_AUTO_TEST_CASE(runs_within_runs_end_at_the_depth_limit) {
  auto self = std::make_shared<std::optional<compiled_graph>>();
  *self = one_node([self](const state_view&, context& ctx) -> coro<value> {
    auto deeper = ctx.run(**self);
    co_return co_await deeper;
  });
  runtime rt;
  auto out = rt.load(**self).try_invoke({});
  self->reset();
  BOOST_REQUIRE(!out);
  BOOST_TEST((out.error().code() == errc::invalid_graph));
  BOOST_TEST(out.error().message().find("graph_depth_max") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_unknown_namespace_is_an_error) {
  runtime rt{in_memory()};
  auto app = rt.load(asks("?"));
  auto state = app.try_get_state({.thread_id = "t", .checkpoint_ns = "nobody:1"});
  BOOST_REQUIRE(!state);
  BOOST_TEST(state.error().message() == "Subgraph nobody not found");
}

// -- workflows

BOOST_AUTO_TEST_CASE(a_workflow_does_not_run_again_what_had_finished) {
  auto runs = std::make_shared<std::atomic<int>>(0);
  auto twice = task("twice", [runs](std::int64_t n) {
    ++*runs;
    return n * 2;
  });
  auto flow = entrypoint(
    "flow", [twice](const std::vector<std::int64_t>& in, context& ctx) -> coro<std::int64_t> {
      std::vector<future<std::int64_t>> all;
      for (auto n : in)
        all.push_back(twice(ctx, n));
      std::int64_t total = 0;
      for (auto& f : all)
        total = total * 10 + co_await f;
      auto more = ctx.interrupt_as<std::int64_t>("how much more?");
      co_return total + more;
    });
  runtime rt{in_memory()};
  auto app = rt.load(flow);
  run_config t{.thread_id = "t"};
  auto paused = app.invoke(value::of(std::vector<std::int64_t>{1, 2, 3}), t);
  BOOST_TEST(paused.interrupts().size() == 1u);
  auto wrong = app.try_invoke(command{.resume = "much"}, t);
  BOOST_REQUIRE(!wrong);
  BOOST_TEST((wrong.error().code() == errc::invalid_resume));
  BOOST_TEST(app.invoke(command{.resume = 1000}, t).value() == value(1246));
  BOOST_TEST(*runs == 3);
}

BOOST_AUTO_TEST_CASE(workflows_that_wait_do_not_keep_their_tasks_from_running) {
  auto one = task("one", [](std::int64_t n) { return n + 1; });
  auto flow = entrypoint("flow", [one](std::int64_t n, context& ctx) { return one(ctx, n).get(); });
  runtime rt{{.blocking_threads = 2}};
  auto app = rt.load(flow);
  std::vector<run_handle> all;
  for (std::int64_t i = 0; i < 16; ++i)
    all.push_back(app.start(value(i)));
  for (std::int64_t i = 0; i < 16; ++i)
    BOOST_TEST(all[static_cast<std::size_t>(i)].get().value().value() == value(i + 1));
}

BOOST_AUTO_TEST_CASE(
  what_a_task_fails_with_comes_out_of_its_future_and_previous_is_what_was_saved) {
  auto bad = task("bad", [](std::int64_t) -> std::int64_t {
    throw node_error{"ValueError", "no"};
  });
  auto flow = entrypoint("flow",
                         [bad](std::int64_t n, context& ctx) -> final_value<value, std::int64_t> {
                           auto before = ctx.previous();
                           try {
                             bad(ctx, n).get();
                           } catch (const error& e) {
                             return {value::list({value(e.type()), before}), n};
                           }
                           return {value{}, n};
                         });
  runtime rt{in_memory()};
  auto app = rt.load(flow);
  run_config t{.thread_id = "t"};
  BOOST_TEST((app.invoke(value(7), t).value() == value::list({value("ValueError"), value{}})));
  BOOST_TEST((app.invoke(value(8), t).value() == value::list({value("ValueError"), value(7)})));
}

BOOST_AUTO_TEST_CASE(a_coroutine_task_may_take_its_arguments_by_reference) {
  auto twice = task("twice", [](const std::string& s, context& ctx) -> coro<std::string> {
    co_await ctx.sleep_for(1ms);
    co_return s + s;
  });
  auto flow = entrypoint("flow", [twice](const std::string& s, context& ctx) -> coro<std::string> {
    auto f = twice(ctx, s);
    co_return co_await f;
  });
  runtime rt;
  BOOST_TEST(rt.load(flow).invoke(value("a text that is not short at all")).value()
             == value("a text that is not short at alla text that is not short at all"));
}

// -- failures

BOOST_AUTO_TEST_CASE(a_task_is_tried_as_often_as_its_policy_says) {
  std::atomic<int> tries{0};
  auto body = [&tries](const state_view&, context& ctx) {
    ++tries;
    if (ctx.attempt() < 3)
      throw node_error{"ConnectionError", "not yet"};
    return logged("there");
  };
  runtime rt;
  BOOST_TEST(rt.load(one_node(body, {.retry = {.initial_interval = 0ns, .jitter = false}}))
               .invoke({})
               .value()["log"]
             == words({"there"}));
  BOOST_TEST(tries == 3);
  auto out =
    rt.load(
        one_node(body, {.retry = {.initial_interval = 0ns, .max_attempts = 2, .jitter = false}}))
      .try_invoke({});
  BOOST_REQUIRE(!out);
  BOOST_TEST(out.error().type() == "ConnectionError");
  BOOST_TEST(tries == 5);
}

BOOST_AUTO_TEST_CASE(an_attempt_that_takes_too_long_is_given_up_and_what_it_still_says_is_dropped) {
  gate hold;
  gate late;
  std::atomic<int> tries{0};
  runtime rt;
  auto app = rt.load(one_node(
    [&](const state_view&, context& ctx) {
      if (++tries == 1) {
        hold.pass();
        ctx.write("late");
        late.pass();
        return logged("late");
      }
      return logged("in time");
    },
    {.retry = {.initial_interval = 0ns, .jitter = false}, .timeout = 20ms}));
  std::vector<value> custom;
  auto parts = app.stream({}, {}, {stream_mode::custom});
  while (auto part = parts.next())
    custom.push_back(part->data);
  BOOST_TEST(parts.outcome()->value()["log"] == words({"in time"}));
  hold.open();
  late.wait_for(1);
  late.open();
  BOOST_TEST(custom.empty());
  BOOST_TEST(tries == 2);
}

BOOST_AUTO_TEST_CASE(a_handler_takes_over_durably_and_the_failed_node_does_not_run_again) {
  int failed = 0;
  auto store = make_memory_saver();
  state_graph<> g{log_schema()};
  g.add_node("bad",
             [&failed]() -> state_update {
               throw(++failed, node_error{"ValueError", "boom"});
             },
             {.on_error = [](const state_view&, context& ctx) {
               auto answer =
                 ctx.interrupt(ctx.failure()->node + ": " + ctx.failure()->failure.text());
               return state_update{{"log", value::list({answer})}};
             }});
  g.add_edge(START, "bad");
  auto graph = g.compile();
  run_config t{.thread_id = "t"};
  {
    runtime rt{{.saver = store}};
    auto paused = rt.load(graph).invoke({}, t);
    BOOST_REQUIRE(paused.interrupts().size() == 1u);
    BOOST_TEST(paused.interrupts()[0].value == value("bad: boom"));
  }
  runtime rt{{.saver = store}};
  BOOST_TEST(rt.load(graph).invoke(command{.resume = "ok"}, t).value()["log"] == words({"ok"}));
  BOOST_TEST(failed == 1);
}

BOOST_AUTO_TEST_CASE(a_cancelled_run_ends_without_waiting_for_its_bodies) {
  gate hold;
  runtime rt;
  auto app = rt.load(one_node([&hold] { hold.pass(); }, {.lane = lane::blocking}));
  run_control control;
  auto run = app.start({}, {.control = control});
  hold.wait_for(1);
  control.cancel();
  auto out = run.get();
  BOOST_REQUIRE(!out);
  BOOST_TEST((out.error().code() == errc::cancelled));
  hold.open();
}

BOOST_AUTO_TEST_CASE(a_run_has_a_deadline) {
  gate hold;
  runtime rt;
  auto app = rt.load(one_node([&hold] { hold.pass(); }, {.lane = lane::blocking}));
  auto out = app.try_invoke({}, {.run_timeout = 20ms});
  hold.open();
  BOOST_REQUIRE(!out);
  BOOST_TEST((out.error().code() == errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(a_cached_node_runs_once_for_an_input) {
  int ran = 0;
  auto graph = one_node(
    [&ran] {
      ++ran;
      return logged("n");
    },
    {.cache = {}});
  runtime rt{{.cache = make_memory_cache()}};
  auto app = rt.load(graph);
  app.invoke({});
  BOOST_TEST(app.invoke({}).value()["log"] == words({"n"}));
  BOOST_TEST(ran == 1);
  app.clear_cache().value();
  app.invoke({});
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(a_save_that_fails_anywhere_fails_the_run_and_a_second_one_ends_it_right) {
  state_graph<> g{log_schema()};
  g.add_node("sub", one_node([] { return logged("in"); }));
  g.add_node("a", [] { return logged("a"); });
  g.add_node("b", [] { return logged("b"); });
  g.add_edge(START, "sub");
  g.add_edge(START, "a");
  g.add_edge("sub", "b");
  auto graph = g.compile();
  for (auto durable : {durability::sync, durability::async}) {
    bool untouched = false;
    for (int nth = 1; nth < 40 && !untouched; ++nth) {
      auto store = make_memory_saver();
      runtime rt{{.saver = std::make_shared<failing_saver>(store, nth)}};
      auto app = rt.load(graph);
      run_config t{.thread_id = "t", .durability = durable};
      auto out = app.try_invoke({}, t);
      untouched = out.has_value();
      if (!out) {
        BOOST_TEST((out.error().code() == errc::storage_full));
        bool begun = !app.get_state(t).created_at.empty();
        out = app.try_invoke(begun ? run_input(nullptr) : run_input(), t);
      }
      BOOST_REQUIRE(out.has_value());
      BOOST_TEST(app.get_state(t).values["log"] == words({"a", "in", "b"}));
    }
    BOOST_TEST(untouched);
  }
}

BOOST_AUTO_TEST_CASE(a_refused_step_leaves_nothing_behind_with_durability_exit) {
  state_graph<> g{{{"one", last_value}, {"log", append}}};
  for (const char* name : {"a", "b"}) {
    g.add_node(name, [name] { return state_update{{"log", words({name})}, {"one", 1}}; });
    g.add_edge(START, name);
  }
  runtime rt{in_memory()};
  auto app = rt.load(g.compile());
  run_config t{.thread_id = "t", .durability = durability::exit};
  BOOST_TEST((app.try_invoke({}, t).error().code() == errc::invalid_update));
  auto state = app.get_state(t);
  BOOST_TEST((state.next == std::vector<std::string>{"a", "b"}));
  BOOST_TEST(state.values["log"].empty());
}

// -- joins, actors, followers

BOOST_AUTO_TEST_CASE(a_join_of_any_runs_at_the_first_arrival_and_absorbs_the_rest) {
  state_graph<> g{log_schema()};
  g.add_node("a", [] { return logged("a"); });
  g.add_node("b1", [] {});
  g.add_node("b2", [] { return logged("b"); });
  g.add_node("join", [] { return logged("join"); });
  g.add_edge(START, "a");
  g.add_edge(START, "b1");
  g.add_edge("b1", "b2");
  g.add_join({"a", "b2"}, "join", {.need = 1});
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({}).value()["log"] == words({"a", "b", "join"}));
}

BOOST_AUTO_TEST_CASE(a_join_with_a_timeout_runs_with_what_is_there_when_nothing_else_is_left) {
  state_graph<> g{log_schema()};
  g.add_node("a", [] { return logged("a"); });
  g.add_node("b", [] { return logged("b"); });
  g.add_node("join", [] { return logged("join"); });
  g.add_edge(START, "a");
  g.add_join({"a", "b"}, "join", {.timeout = 1h});
  auto graph = g.compile();
  BOOST_TEST(graph.warnings().size() == 1u); // nothing leads to b
  runtime rt;
  BOOST_TEST(rt.load(graph).invoke({}).value()["log"] == words({"a", "join"}));
}

BOOST_AUTO_TEST_CASE(a_node_can_be_an_actor_and_its_death_fails_the_task) {
  caf::actor_system_config config;
  add_message_types(config);
  caf::actor_system system{config};
  auto echo = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](const actor_task& task) -> actor_task_done {
      if (input_of(task)["log"].size() > 0)
        self->quit(caf::exit_reason::user_shutdown);
      return done_with(value::map({{"log", words({"actor"})}}));
    }};
  });
  state_graph<> g{log_schema()};
  g.add_node("n", actor_node(echo));
  g.add_edge(START, "n");
  auto graph = g.compile();
  {
    runtime rt{system};
    BOOST_TEST(rt.load(graph).invoke({}).value()["log"] == words({"actor"}));
    caf::anon_send_exit(echo, caf::exit_reason::kill);
    auto out = rt.load(graph).try_invoke({});
    BOOST_REQUIRE(!out);
    BOOST_TEST((out.error().code() == errc::node_lost));
  }
}

BOOST_AUTO_TEST_CASE(a_reader_goes_on_from_any_number_of_a_thread) {
  runtime rt{in_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  app.start({}, {.thread_id = "t"}, {stream_mode::updates}).get().value();
  std::vector<std::uint64_t> numbers;
  for (auto& part : app.follow("t", 1))
    numbers.push_back(part.seq);
  BOOST_TEST((numbers == std::vector<std::uint64_t>{2, 3}));
  auto beyond = app.follow("t", 9);
  BOOST_TEST((beyond.try_next().error().code() == errc::missing_key));
}

BOOST_AUTO_TEST_CASE(a_hundred_nodes_at_one_barrier_give_the_same_bytes_every_time) {
  state_graph<> g{log_schema()};
  for (int i = 0; i < 100; ++i) {
    auto name = "n" + std::to_string(i);
    g.add_node(name, [i] { return state_update{{"log", value::list({value(i)})}}; });
    g.add_edge(START, name);
  }
  runtime rt;
  auto app = rt.load(g.compile());
  auto first = to_msgpack(app.invoke({}).value()).value();
  for (int i = 0; i < 10'000; ++i)
    if (to_msgpack(app.invoke({}).value()).value() != first)
      BOOST_FAIL("run " + std::to_string(i) + " differs");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
