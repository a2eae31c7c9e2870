// Workflows: tasks that bodies start, what they give, and what of them is kept.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

using counter = std::atomic<int>;
using integers = std::vector<std::int64_t>;

const retry_policy at_once{.initial_interval = 0ns, .jitter = false};

/// The square of its argument; counts.
auto square(counter& ran) {
  return task("square", [&ran](std::int64_t n) {
    ++ran;
    return n * n;
  });
}

/// A body that starts a square for each of its input, and then waits for them in the given way.
compiled_graph squares_of(counter& ran, bool coroutine) {
  auto sq = square(ran);
  if (coroutine)
    return entrypoint("flow", [sq](integers in, context& ctx) -> coro<integers> {
      std::vector<future<std::int64_t>> started;
      for (auto n : in)
        started.push_back(sq(ctx, n));
      integers out;
      for (const auto& f : started)
        out.push_back(co_await f);
      co_return out;
    });
  return entrypoint("flow", [sq](const integers& in, context& ctx) {
    std::vector<future<std::int64_t>> started;
    for (auto n : in)
      started.push_back(sq(ctx, n));
    integers out;
    for (const auto& f : started)
      out.push_back(f.get());
    return out;
  });
}

/// Two squares, a question, and what was answered.
compiled_graph asks_behind_tasks(counter& ran) {
  return entrypoint("flow", [sq = square(ran)](std::int64_t n, context& ctx) {
    auto first = sq(ctx, n), second = sq(ctx, n + 1);
    auto one = first.get(), two = second.get();
    auto given = ctx.interrupt("more?");
    auto third = sq(ctx, n + 2);
    return value::list({value(one), value(two), given, value(third.get())});
  });
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_workflow)

// ---- futures --------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(results_are_those_of_the_calls_in_a_plain_body_and_in_a_coroutine,
                     data::make({false, true}), coroutine) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(squares_of(ran, coroutine));
  BOOST_TEST(to_json(app.invoke({value::list({3, 1, 2})}, {.thread_id = "t"}).value())
             == "[9,1,4]");
  BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(tasks_that_a_body_started_run_side_by_side) {
  meeting_point all{3};
  auto meets = task("meets", [&all](std::int64_t) { return all.meet(); });
  auto flow = entrypoint("flow", [meets](const value&, context& ctx) {
    auto a = meets(ctx, 1), b = meets(ctx, 2), c = meets(ctx, 3);
    return a.get() && b.get() && c.get();
  });
  runtime rt;
  BOOST_TEST(rt.load(flow).invoke({}).value() == value(true));
}

BOOST_AUTO_TEST_CASE(a_result_belongs_to_its_call_in_whatever_order_the_tasks_end) {
  std::vector<gate> gates(4);
  auto held = task("held", [&gates](std::int64_t n) {
    gates[static_cast<std::size_t>(n)].pass();
    return n;
  });
  auto flow = entrypoint("flow", [held](const value&, context& ctx) {
    std::vector<future<std::int64_t>> started;
    for (int n = 0; n < 4; ++n)
      started.push_back(held(ctx, n));
    integers out;
    for (const auto& f : started)
      out.push_back(f.get());
    return out;
  });
  runtime rt;
  auto run = rt.load(flow).start({});
  for (std::size_t n : {2u, 3u, 0u, 1u}) {
    gates[n].wait_for(1);
    gates[n].open();
  }
  BOOST_TEST(to_json(run.get().value().value()) == "[0,1,2,3]");
}

BOOST_AUTO_TEST_CASE(a_future_is_ready_when_its_task_ended_and_gives_its_result_twice) {
  auto quick = task("quick", [](std::int64_t n) { return n + 1; });
  auto flow = entrypoint("flow", [quick](const value&, context& ctx) {
    auto f = quick(ctx, 1);
    auto first = f.get();
    bool ready = f.ready();
    return value::list({value(first), value(ready), value(f.get())});
  });
  runtime rt;
  BOOST_TEST(to_json(rt.load(flow).invoke({}).value()) == "[2,true,2]");
}

BOOST_AUTO_TEST_CASE(a_task_may_start_tasks_and_return_nothing) {
  counter ran{0};
  auto inner = task("inner", [&ran](std::int64_t n) { ran += static_cast<int>(n); });
  auto outer = task("outer", [inner](std::int64_t n, context& ctx) {
    auto a = inner(ctx, n), b = inner(ctx, n);
    a.get();
    b.get();
  });
  auto flow = entrypoint("flow", [outer](std::int64_t n, context& ctx) {
    outer(ctx, n).get();
    return n;
  });
  runtime rt;
  BOOST_TEST(rt.load(flow).invoke(value(21)).value() == value(21));
  BOOST_TEST(ran == 42);
}

BOOST_AUTO_TEST_CASE(a_node_of_a_graph_may_start_tasks_too) {
  counter ran{0};
  state_graph<> g{{{"x", last_value}}};
  g.add_node("n",
             [sq = square(ran)](context& ctx) {
               return state_update{{"x", sq(ctx, 5).get()}};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "n");
  runtime rt{with_memory()};
  BOOST_TEST(rt.load(g.compile()).invoke({}, {.thread_id = "t"}).value()["x"] == value(25));
}

BOOST_AUTO_TEST_CASE(a_run_ends_when_the_tasks_nobody_waits_for_have_ended_and_keeps_them) {
  gate hold;
  counter ran{0};
  auto slow = task("slow", [&](std::int64_t n) {
    hold.pass();
    ++ran;
    return n;
  });
  auto flow = entrypoint("flow", [slow](const value&, context& ctx) {
    slow(ctx, 1);
    slow(ctx, 2);
    return std::string{"body"};
  });
  auto store = make_memory_saver();
  runtime rt{{.saver = store}};
  auto run = rt.load(flow).start({}, {.thread_id = "t"});
  hold.wait_for(2);
  BOOST_TEST(!run.ready());
  hold.open();
  BOOST_TEST(run.get().value().value() == value("body"));
  BOOST_TEST(ran == 2);
  auto first = store->list({.thread_id = "t"}).value().back();
  auto kept = std::count_if(first.pending_writes.begin(), first.pending_writes.end(),
                            [](const auto& w) { return w.channel == "__return__"; });
  BOOST_TEST(kept == 2);
}

// ---- the wrong lane -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(waiting_for_a_task_on_the_standard_lane_is_refused_and_the_body_may_go_on) {
  gate hold;
  std::optional<error> refused;
  auto held = task("held", [&hold](std::int64_t n) {
    hold.pass();
    return n;
  });
  auto flow = entrypoint("impatient",
                         [&, held](const value&, context& ctx) {
                           auto f = held(ctx, 1);
                           try {
                             f.get();
                           } catch (const error& e) {
                             refused = e;
                           }
                           hold.open();
                           return std::string{"went on"};
                         },
                         {.lane = lane::standard});
  runtime rt;
  BOOST_TEST(rt.load(flow).invoke({}).value() == value("went on"));
  BOOST_REQUIRE(refused.has_value());
  BOOST_TEST((refused->code() == errc::invalid_graph));
  for (const char* told : {"`impatient`", "lane::blocking", "coroutine"})
    BOOST_TEST(refused->message().find(told) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_coroutine_must_not_block_on_a_task) {
  gate hold;
  auto held = task("held", [&hold](std::int64_t n) {
    hold.pass();
    return n;
  });
  auto flow = entrypoint("flow", [&hold, held](value, context& ctx) -> coro<std::string> {
    auto f = held(ctx, 1);
    auto code = errc::ok;
    try {
      f.get();
    } catch (const error& e) {
      code = e.code();
    }
    hold.open();
    auto n = co_await f;
    co_return std::string{to_string(code)} + " " + std::to_string(n);
  });
  runtime rt;
  BOOST_TEST(rt.load(flow).invoke({}).value() == value("invalid_graph 1"));
}

// ---- failures -------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(what_a_task_fails_with_comes_out_of_its_future, data::make({false, true}),
                     caught) {
  auto bad = task("bad", [](std::int64_t n) -> std::int64_t {
    throw std::out_of_range{"task " + std::to_string(n)};
  });
  auto flow = entrypoint("flow", [bad, caught](const value&, context& ctx) {
    auto f = bad(ctx, 7);
    try {
      return std::to_string(f.get());
    } catch (const error& e) {
      if (!caught)
        throw;
      return e.type() + ": " + e.text();
    }
  });
  runtime rt{with_memory()};
  auto how = rt.load(flow).try_invoke({}, {.thread_id = "t"});
  if (caught) {
    BOOST_TEST(how.value().value() == value("std::out_of_range: task 7"));
  } else {
    BOOST_REQUIRE((code_of(how) == errc::node_failed));
    BOOST_TEST(how.error().type() == "std::out_of_range");
    BOOST_TEST(how.error().message().find("`bad`") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_workflow_that_failed_runs_the_failed_task_again_and_no_other) {
  counter good{0}, bad{0};
  auto fails_once = task("fails once", [&bad](std::int64_t n) {
    if (++bad == 1)
      throw std::runtime_error{"once"};
    return n;
  });
  auto flow = entrypoint("flow", [sq = square(good), fails_once](const value&, context& ctx) {
    auto a = sq(ctx, 2);
    auto b = fails_once(ctx, 3);
    auto c = sq(ctx, 4);
    return integers{a.get(), c.get(), b.get()};
  });
  for (auto durable : {durability::sync, durability::async, durability::exit}) {
    good = bad = 0;
    runtime rt{with_memory()};
    auto app = rt.load(flow);
    run_config config{.thread_id = "t", .durability = durable};
    BOOST_TEST((code_of(app.try_invoke({}, config)) == errc::node_failed));
    BOOST_TEST(to_json(app.invoke(nullptr, config).value()) == "[4,16,3]");
    BOOST_TEST(good == 2);
    BOOST_TEST(bad == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_task_is_tried_again_by_its_policy_and_its_body_is_not) {
  counter bodies{0};
  auto third_time =
    task("third time",
         [](std::int64_t n, context& ctx) {
           if (ctx.node_attempt() < 3)
             throw node_error{"ConnectionError", "attempt " + std::to_string(ctx.node_attempt())};
           return n * ctx.node_attempt();
         },
         {.retry_policy = at_once});
  auto flow = entrypoint("flow", [&bodies, third_time](const value&, context& ctx) {
    ++bodies;
    return third_time(ctx, 10).get();
  });
  runtime rt{with_memory()};
  BOOST_TEST(rt.load(flow).invoke({}, {.thread_id = "t"}).value() == value(30));
  BOOST_TEST(bodies == 1);
}

BOOST_AUTO_TEST_CASE(a_body_that_is_tried_again_gets_what_its_tasks_gave_before) {
  counter ran{0};
  auto flow = entrypoint("flow",
                         [sq = square(ran)](const value&, context& ctx) {
                           auto a = sq(ctx, 2), b = sq(ctx, 3);
                           auto sum = a.get() + b.get();
                           if (ctx.node_attempt() < 3)
                             throw node_error{"ConnectionError", "again"};
                           return sum + sq(ctx, 4).get();
                         },
                         {.retry_policy = at_once});
  runtime rt{with_memory()};
  BOOST_TEST(rt.load(flow).invoke({}, {.thread_id = "t"}).value() == value(29));
  BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(a_task_that_takes_too_long_fails_with_a_timeout_and_may_be_tried_again) {
  gate hold;
  auto slow = task("slow",
                   [&hold](std::int64_t n, context& ctx) {
                     if (ctx.node_attempt() == 1)
                       hold.pass();
                     return n;
                   },
                   {.timeout = 20ms});
  auto patient = task("patient",
                      [&hold](std::int64_t n, context& ctx) {
                        if (ctx.node_attempt() == 1)
                          hold.pass();
                        return n;
                      },
                      {.retry_policy = at_once, .timeout = 20ms});
  auto flow = entrypoint("flow", [slow, patient](const value&, context& ctx) {
    auto f = patient(ctx, 5);
    try {
      return std::to_string(slow(ctx, 1).get());
    } catch (const error& e) {
      return std::string{to_string(e.code())} + " " + std::to_string(f.get());
    }
  });
  {
    runtime rt{with_memory()};
    auto out = rt.load(flow).invoke({}, {.thread_id = "t"}).value();
    hold.open();
    BOOST_TEST(out == value("node_timeout 5"));
  }
}

// ---- questions and restarts -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_tasks_gave_is_found_again_after_a_restart_and_they_do_not_run_again) {
  for (auto durable : {durability::sync, durability::async, durability::exit}) {
    counter ran{0};
    auto store = make_memory_saver();
    run_config config{.thread_id = "t", .durability = durable};
    {
      runtime rt{{.saver = store}};
      auto paused = rt.load(asks_behind_tasks(ran)).invoke(value(3), config);
      BOOST_TEST(paused.interrupts().at(0).value == value("more?"));
      BOOST_TEST(ran == 2);
    }
    runtime rt{{.saver = store}};
    auto out = rt.load(asks_behind_tasks(ran)).invoke(answer("yes"), config).value();
    BOOST_TEST(to_json(out) == R"([9,16,"yes",25])");
    BOOST_TEST(ran == 3);
  }
}

BOOST_AUTO_TEST_CASE(the_input_of_the_next_run_starts_the_tasks_anew) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(squares_of(ran, false));
  for (int i = 1; i < 4; ++i) {
    auto in = value::list({i});
    BOOST_TEST(app.invoke({in}, {.thread_id = "t"}).value() == value::list({i * i}));
    BOOST_TEST(ran == i);
  }
}

BOOST_DATA_TEST_CASE(a_question_inside_a_task_pauses_the_run_and_its_answer_goes_there,
                     data::make({false, true}), by_id) {
  counter before{0}, asked{0};
  auto asks = task("asks", [&asked](std::int64_t n, context& ctx) {
    ++asked;
    return value::list({n, ctx.interrupt(value::list({"for", n}))});
  });
  auto flow = entrypoint("flow", [sq = square(before), asks](const value&, context& ctx) {
    auto n = sq(ctx, 3).get();
    auto f = asks(ctx, n);
    return f.get();
  });
  runtime rt{with_memory()};
  auto app = rt.load(flow);
  auto paused = app.invoke({}, {.thread_id = "t"});
  BOOST_TEST(paused.paused());
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  BOOST_TEST(to_json(paused.interrupts()[0].value) == R"(["for",9])");
  value given("me");
  if (by_id)
    given = value::map({{paused.interrupts()[0].id, "me"}});
  BOOST_TEST(to_json(app.invoke(answer(given), {.thread_id = "t"}).value()) == R"([9,"me"])");
  BOOST_TEST(before == 1);
  BOOST_TEST(asked == 2);
}

BOOST_AUTO_TEST_CASE(questions_of_several_tasks_come_one_by_one_in_the_order_of_the_waits) {
  auto asks = task("asks", [](std::int64_t n, context& ctx) { return ctx.interrupt(value(n)); });
  auto flow = entrypoint("flow", [asks](const value&, context& ctx) {
    auto a = asks(ctx, 1), b = asks(ctx, 2);
    auto two = b.get(), one = a.get();
    return value::list({one, two});
  });
  runtime rt{with_memory()};
  auto app = rt.load(flow);
  auto paused = app.invoke({}, {.thread_id = "t"});
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  BOOST_TEST(paused.interrupts()[0].value == value(2));
  // The other one waits as well, so a plain answer is refused, as in the reference.
  run_config config{.thread_id = "t"};
  BOOST_TEST((code_of(app.try_invoke(answer("two"), config)) == errc::ambiguous_resume));
  paused = app.invoke(answer(value::map({{paused.interrupts()[0].id, "two"}})), config);
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  BOOST_TEST(paused.interrupts()[0].value == value(1));
  paused = app.invoke(answer(value::map({{paused.interrupts()[0].id, "one"}})), config);
  BOOST_TEST(to_json(paused.value()) == R"(["one","two"])");
}

BOOST_AUTO_TEST_CASE(a_task_that_asks_is_reported_by_its_caller_alone) {
  auto asks = task("asks", [](std::int64_t n, context& ctx) { return ctx.interrupt(value(n)); });
  auto around = task("around", [asks](std::int64_t n, context& ctx) { return asks(ctx, n).get(); });
  auto flow = entrypoint("flow",
                         [around](const value&, context& ctx) { return around(ctx, 7).get(); });
  runtime rt{with_memory()};
  std::vector<std::string> seen;
  for (const auto& part :
       rt.load(flow).stream({}, {.thread_id = "t"}, {stream_mode::updates, stream_mode::tasks})) {
    bool end = part.data.contains("interrupts");
    seen.push_back(std::string{to_string(part.mode)}
                   + (part.mode == stream_mode::updates
                        ? ""
                        : " " + std::string{part.data["name"].as_string()} + (end ? " ends" : "")));
  }
  std::vector<std::string> expected{"tasks flow", "tasks around", "tasks asks", "updates",
                                    "tasks flow ends"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_failed_task_that_a_later_attempt_starts_anew_is_another_task) {
  auto bad = task("bad", []() -> value { throw node_error{"ValueError", "always"}; });
  auto flow = entrypoint("flow",
                         [bad](const value&, context& ctx) {
                           try {
                             return bad(ctx).get();
                           } catch (const error&) {
                             throw node_error{"ConnectionError", "again"};
                           }
                         },
                         {.retry_policy = at_once});
  runtime rt{with_memory()};
  auto app = rt.load(flow);
  std::vector<std::string> began, ended;
  auto parts = app.stream({}, {.thread_id = "t"}, {stream_mode::tasks});
  for (auto next = parts.try_next(); next && *next; next = parts.try_next()) {
    const auto& data = (*next)->data;
    if (data["name"] == value("bad"))
      (data.contains("error") ? ended : began).emplace_back(data["id"].as_string());
  }
  BOOST_TEST(began.size() == 3u);
  BOOST_TEST(began == ended, boost::test_tools::per_element());
  std::sort(began.begin(), began.end());
  BOOST_TEST((std::unique(began.begin(), began.end()) == began.end()));
}

BOOST_AUTO_TEST_CASE(what_a_body_streams_comes_after_the_ends_of_the_tasks_it_waited_for) {
  auto sq = task("square", [](std::int64_t n) { return n * n; });
  auto flow = entrypoint("flow", [sq](std::int64_t n, context& ctx) {
    for (std::int64_t i = 0; i < n; ++i)
      ctx.write(value(sq(ctx, i).get()));
    return n;
  });
  runtime rt{with_memory()};
  auto app = rt.load(flow);
  std::vector<std::string> seen, expected;
  for (std::int64_t i = 0; i < 40; ++i) {
    expected.push_back(R"(updates {"square":)" + std::to_string(i * i) + "}");
    expected.push_back("custom " + std::to_string(i * i));
  }
  expected.emplace_back(R"(updates {"flow":40})");
  run_config config{.thread_id = "t", .durability = durability::sync};
  for (const auto& part :
       app.stream(value(40), config, {stream_mode::updates, stream_mode::custom}))
    seen.push_back(std::string{to_string(part.mode)} + " " + to_json(part.data));
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

// ---- from one run to the next -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_update_from_outside_is_previous_in_the_next_run) {
  runtime rt{with_memory()};
  auto app = rt.load(entrypoint("foo", [](const value& in, context& ctx) {
    return value{{"in", in}, {"before", ctx.previous()}};
  }));
  auto before = [&app](const std::string& thread) {
    return to_json(app.invoke(value(1), {.thread_id = thread}).value()["before"]);
  };
  for (const char* as_node : {"", "foo"}) {
    auto thread = std::string{"t"} + as_node;
    app.invoke(value(1), {.thread_id = thread});
    app.update_state({.thread_id = thread}, value{{"a", "-1"}}, as_node);
    BOOST_TEST(to_json(app.get_state({.thread_id = thread}).values) == R"({"a":"-1"})");
    BOOST_TEST(before(thread) == R"({"a":"-1"})");
    app.update_state({.thread_id = thread}, value("text"), as_node);
    BOOST_TEST(before(thread) == R"("text")");
    app.update_state({.thread_id = thread}, std::nullopt, as_node);
    BOOST_TEST(before(thread) == "null");
  }
  app.update_state({.thread_id = "fresh"}, value{{"a", 2}});
  BOOST_TEST(before("fresh") == R"({"a":2})");
  app.update_state({.thread_id = "t"}, state_update{{"__end__", 1}, {"__previous__", 2}});
  BOOST_TEST(app.get_state({.thread_id = "t"}).values == value(1));
  BOOST_TEST(before("t") == "2");
  auto unknown = app.try_update_state({.thread_id = "t"}, value(1), START);
  BOOST_REQUIRE(!unknown);
  BOOST_TEST((unknown.error().code() == errc::invalid_update));
}

BOOST_AUTO_TEST_CASE(a_workflow_has_the_schemas_of_what_it_takes_and_returns) {
  auto schemas = [](const compiled_graph& graph) {
    return to_json(graph.input_jsonschema()) + to_json(graph.output_jsonschema());
  };
  const std::string list = R"({"items":{"type":"integer"},"type":"array"})";
  const std::string text = R"({"type":"string"})";
  BOOST_TEST(schemas(entrypoint("f", [](const integers& in) { return in; })) == list + list);
  BOOST_TEST(
    schemas(entrypoint(
      "f", [](const integers&, context&) -> coro<std::string> { co_return std::string{}; }))
    == list + text);
  BOOST_TEST(schemas(entrypoint("f",
                                [](const std::string& in) {
                                  return final_value{integers{}, in};
                                }))
             == text + list);
  BOOST_TEST(schemas(entrypoint("f", [](const value&) {})) == "{}{}");
}

BOOST_AUTO_TEST_CASE(what_a_run_returned_is_previous_in_the_next_one_of_its_thread) {
  auto flow = entrypoint("flow", [](std::int64_t n, context& ctx) {
    const auto& before = ctx.previous();
    return before.is_null() ? n : before.as_int() + n;
  });
  runtime rt{with_memory()};
  auto app = rt.load(flow);
  BOOST_TEST(app.invoke(value(1), {.thread_id = "t"}).value() == value(1));
  BOOST_TEST(app.invoke(value(10), {.thread_id = "t"}).value() == value(11));
  BOOST_TEST(app.invoke(value(100), {.thread_id = "t"}).value() == value(111));
  BOOST_TEST(app.invoke(value(5), {.thread_id = "other"}).value() == value(5));
}

BOOST_AUTO_TEST_CASE(a_final_value_gives_one_thing_and_saves_another) {
  auto flow = entrypoint("flow", [](std::int64_t n, context& ctx) {
    return final_value{ctx.previous(), n * 2};
  });
  runtime rt{with_memory()};
  auto app = rt.load(flow);
  BOOST_TEST(app.invoke(value(1), {.thread_id = "t"}).value() == value{});
  BOOST_TEST(app.invoke(value(5), {.thread_id = "t"}).value() == value(2));
  BOOST_TEST(app.invoke(value(7), {.thread_id = "t"}).value() == value(10));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
