// Running graphs through the front door: lanes, failures, pauses, actors, clean ends.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/actor.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

std::size_t count(const std::vector<actor_info>& actors, std::string_view kind,
                  std::string_view name, std::string_view state) {
  return static_cast<std::size_t>(std::count_if(actors.begin(), actors.end(), [&](const auto& a) {
    return a.kind == kind && a.name == name && a.state == state;
  }));
}

struct user {
  std::string name;
  TROUPE_STATE(user, name)
};

/// Stores a request's writes and its checkpoint one after the other, and fails between the two of
/// the nth checkpoint.
class half_saver : public forwarding_saver {
public:
  half_saver(std::shared_ptr<saver> inner, int nth)
    : forwarding_saver{std::move(inner)},
      left_{nth} {}

  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (!request.put || --left_ != 0)
      return forwarding_saver::submit(std::move(request), when, std::move(done));
    request.put.reset();
    forwarding_saver::submit(std::move(request), when, [done](const result<void>&) {
      done(error{errc::storage_full, "save: injected"});
    });
  }

private:
  std::atomic<int> left_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_runtime)

BOOST_AUTO_TEST_CASE(a_run_held_in_the_middle_shows_its_coordinator_channels_and_running_node) {
  gate hold;
  state_graph<> g{{{"log", append}, {"seen", last_value}, {"unused", last_value}}};
  g.add_node("a", [] { return state_update{{"log", words({"a"})}, {"seen", 1}}; });
  g.add_node("b", [&hold] { hold.pass(); }, {.lane = lane::blocking});
  g.add_node("c", [] { return state_update{{"log", words({"c"})}}; });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", "c");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile({.name = "held"}));
  auto run = app.start({}, {.thread_id = "t"});
  hold.wait_for(1);
  auto actors = run.actors();
  BOOST_TEST(count(actors, "run", "held", "running") == 1u);
  BOOST_TEST(count(actors, "channel", "log", "idle") == 1u);
  BOOST_TEST(count(actors, "channel", "seen", "idle") == 1u);
  BOOST_TEST(count(actors, "channel", "unused", "idle") == 0u);
  BOOST_TEST(count(actors, "node", "b", "running") == 1u);
  BOOST_TEST(count(actors, "node", "c", "idle") == 0u);
  for (const auto& a : actors) {
    BOOST_TEST(a.thread_id == "t");
    BOOST_TEST(a.host == "local");
  }
  hold.open();
  BOOST_TEST(run.get().value().value()["log"] == words({"a", "c"}));
}

BOOST_AUTO_TEST_CASE(an_idle_graph_ends_with_no_actor_but_the_runtimes_own) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  app.invoke({}, {.thread_id = "t"});
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (rt.actors().size() > 1 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  auto left = rt.actors();
  BOOST_REQUIRE(left.size() == 1u);
  BOOST_TEST(left[0].kind == "saver");
}

BOOST_AUTO_TEST_CASE(who_asked_is_told_of_the_end_of_a_run_once) {
  gate hold;
  state_graph<> g{{{"log", append}}};
  g.add_node("a",
             [&hold] {
               hold.pass();
               return state_update{{"log", words({"a"})}};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "a");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  BOOST_TEST(app.saver() == rt.saver().get());
  auto run = app.start({}, {.thread_id = "t"});
  hold.wait_for(1);
  std::atomic<int> told = 0;
  auto tell = [&told](const result<run_result>& how) {
    BOOST_TEST(how.value().value()["log"].size() == 1u);
    ++told;
  };
  run.when_done(tell);
  run.when_done(tell);
  BOOST_TEST(told == 0);
  hold.open();
  run.get().value();
  BOOST_TEST(told == 2); // before anybody else knew
  run.when_done(tell);
  BOOST_TEST(told == 3);
  std::optional<errc> failed;
  app.start({}, {.thread_id = ""}).when_done([&](const result<run_result>& how) {
    failed = how.error().code();
  });
  BOOST_TEST((failed == errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(a_run_that_ends_with_its_runtime_tells_so) {
  gate hold;
  std::optional<errc> how_ended;
  {
    state_graph<> g{{{"log", append}}};
    g.add_node("a", [&hold] { hold.pass(); }, {.lane = lane::blocking});
    g.add_edge(START, "a");
    runtime rt{with_memory()};
    rt.load(g.compile())
      .start({}, {.thread_id = "t"})
      .when_done([&](const result<run_result>& how) {
        how_ended = how.error().code();
        hold.open();
      });
    hold.wait_for(1);
  }
  BOOST_TEST((how_ended == errc::runtime_stopped));
}

BOOST_AUTO_TEST_CASE(a_thousand_runtimes_start_and_end_some_with_a_run_in_flight) {
  for (int i = 0; i < 1000; ++i) {
    auto hold = std::make_shared<gate>();
    auto graph = three_nodes(
      [hold, i](const std::string& node) {
        if (i % 4 == 3 && node == "b")
          hold->pass();
      },
      i % 8 == 7 ? lane::standard : lane::blocking);
    auto rt = std::make_unique<runtime>(i % 2 ? with_memory() : runtime_options{});
    auto app = rt->load(graph);
    if (i % 4 == 3) {
      auto run = app.start({}, {.thread_id = "t"});
      hold->wait_for(1);
      // The body is let go only while the runtime is ending, so a run is in flight.
      std::thread opener{[hold] { hold->open(); }};
      rt.reset();
      opener.join();
      auto how = run.get();
      BOOST_TEST((how.has_value() || how.error().code() == errc::runtime_stopped));
    } else if (i % 4 == 1) {
      auto parts = app.stream({}, {.thread_id = "t"});
      BOOST_TEST(parts.next().has_value());
    } else {
      app.invoke({}, {.thread_id = "t"});
    }
  }
}

BOOST_AUTO_TEST_CASE(a_runtime_may_end_on_another_thread_than_those_that_used_it) {
  auto rt = std::make_unique<runtime>(with_memory());
  {
    auto app = rt->load(three_nodes([](const std::string&) {}));
    app.invoke({}, {.thread_id = "t"});
    app.start({}, {.thread_id = "u"}).get().value();
  }
  std::thread{[&rt] { rt.reset(); }}.join();
  BOOST_TEST(!rt);
}

BOOST_AUTO_TEST_CASE(a_runtime_that_stops_ends_the_run_another_thread_waits_for) {
  gate hold;
  auto rt = std::make_unique<runtime>(with_memory());
  auto app = rt->load(three_nodes(
    [&hold](const std::string& node) {
      if (node == "b")
        hold.pass();
    },
    lane::blocking));
  std::optional<result<run_result>> how;
  std::thread caller{[&] { how = app.try_invoke({}, {.thread_id = "t"}); }};
  hold.wait_for(1);
  std::thread opener{[&hold] { hold.open(); }};
  rt.reset();
  opener.join();
  caller.join();
  BOOST_REQUIRE(how.has_value());
  BOOST_TEST((how->has_value() || how->error().code() == errc::runtime_stopped));
}

BOOST_AUTO_TEST_CASE(a_callers_actor_system_is_left_as_it_was_found) {
  caf::actor_system_config config;
  add_message_types(config);
  caf::actor_system sys{config};
  {
    runtime rt{sys, with_memory()};
    auto app = rt.load(three_nodes([](const auto&) {}));
    BOOST_TEST(app.invoke({}, {.thread_id = "t"}).value()["log"] == words({"a", "b", "c"}));
  }
  BOOST_TEST(sys.registry().running() == 0u);
  runtime again{sys, with_memory()};
  auto app = again.load(three_nodes([](const auto&) {}));
  BOOST_TEST(app.invoke({}, {.thread_id = "t"}).value()["log"] == words({"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(a_graph_actor_answers_start_run_with_run_finished) {
  caf::actor_system_config config;
  add_message_types(config);
  caf::actor_system sys{config};
  runtime rt{sys, with_memory()};
  state_graph<> g{{{"log", append}}};
  g.add_node("ask", [](context& ctx) {
    return state_update{{"log", value::list({ctx.interrupt("go?")})}};
  });
  g.add_edge(START, "ask");
  auto actor = rt.load(g.compile()).handle();
  caf::scoped_actor self{sys};
  run_finished paused, done, refused;
  auto ask = [&](start_run order, run_finished& into) {
    self->request(actor, std::chrono::seconds{30}, std::move(order))
      .receive([&](const run_finished& f) { into = f; },
               [&](const caf::error& e) { BOOST_FAIL(sys.render(e)); });
  };
  ask(make_start_run("t", {}), paused);
  BOOST_TEST(to_result(paused).value().interrupts().at(0).value.as_string() == "go?");
  command answer;
  answer.resume = "yes";
  ask(make_start_run("t", answer), done);
  BOOST_TEST(to_result(done).value().value()["log"] == words({"yes"}));
  start_run broken;
  broken.thread_id = "t";
  broken.input = {0xc1};
  ask(broken, refused);
  BOOST_TEST((to_result(refused).error().code() == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(a_node_that_throws_fails_the_run_with_the_class_it_threw) {
  for (auto where : {lane::standard, lane::blocking}) {
    runtime rt{with_memory()};
    auto app = rt.load(three_nodes(
      [](const std::string& node) {
        if (node == "b")
          throw std::out_of_range{"too far"};
      },
      where));
    auto how = app.try_invoke({}, {.thread_id = "t"});
    BOOST_REQUIRE(!how);
    BOOST_TEST((how.error().code() == errc::node_failed));
    BOOST_TEST(how.error().type() == "std::out_of_range");
    BOOST_TEST(how.error().message().find("`b`") != std::string::npos);
    BOOST_TEST(app.get_state({.thread_id = "t"}).next.at(0) == "b");
  }
}

BOOST_AUTO_TEST_CASE(what_finished_beside_a_failure_is_not_run_again) {
  std::atomic<int> good{0}, bad{0};
  state_graph<> g{{{"log", append}}};
  g.add_node("good", [&good] {
    ++good;
    return state_update{{"log", words({"good"})}};
  });
  g.add_node("bad", [&bad] {
    if (++bad == 1)
      throw std::runtime_error{"once"};
    return state_update{{"log", words({"bad"})}};
  });
  g.add_edge(START, "good");
  g.add_edge(START, "bad");
  for (auto durable : {durability::sync, durability::async, durability::exit}) {
    good = bad = 0;
    runtime rt{with_memory()};
    auto app = rt.load(g.compile());
    run_config config{.thread_id = "t", .durability = durable};
    BOOST_TEST((app.try_invoke({}, config).error().code() == errc::node_failed));
    BOOST_TEST(app.invoke(nullptr, config).value()["log"] == words({"bad", "good"}));
    BOOST_TEST(good == 1);
    BOOST_TEST(bad == 2);
  }
}

BOOST_AUTO_TEST_CASE(two_values_for_one_last_value_channel_fail_the_run_and_leave_the_state) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("first", [] { return state_update{{"x", 1}}; });
  g.add_node("p", [] { return state_update{{"x", 2}}; });
  g.add_node("q", [] { return state_update{{"x", 3}}; });
  g.add_edge(START, "first");
  g.add_edge("first", "p");
  g.add_edge("first", "q");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto how = app.try_invoke({}, {.thread_id = "t"});
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::invalid_update));
  BOOST_TEST(how.error().message().find("At key 'x'") != std::string::npos);
  auto state = app.get_state({.thread_id = "t"});
  BOOST_TEST(state.values["x"] == value(1));
  BOOST_TEST(state.next.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_step_that_takes_too_long_ends_the_run_and_the_thread_goes_on_later) {
  gate hold;
  std::atomic<bool> first{true};
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes(
    [&](const std::string& node) {
      if (node == "b" && first.exchange(false))
        hold.pass();
    },
    lane::blocking));
  auto how = app.try_invoke({}, {.thread_id = "t", .step_timeout = std::chrono::milliseconds{20}});
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::node_timeout));
  BOOST_TEST(how.error().message().find("`b`") != std::string::npos);
  hold.open(); // the late answer changes nothing
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == words({"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_run_ends_and_its_bodies_are_told) {
  gate hold;
  std::atomic<bool> told{false};
  state_graph<> g{{{"log", append}}};
  g.add_node("a",
             [&](context& ctx) {
               hold.pass();
               told = ctx.stop_requested();
             },
             {.lane = lane::blocking});
  g.add_node("b", [] { BOOST_ERROR("a cancelled run goes no further"); });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  {
    runtime rt{with_memory()};
    auto app = rt.load(g.compile());
    run_control control;
    auto run = app.start({}, {.thread_id = "t", .control = control});
    hold.wait_for(1);
    control.cancel();
    hold.open();
    BOOST_TEST((run.get().error().code() == errc::cancelled));
  } // the run does not wait for its bodies, its runtime does
  BOOST_TEST(told);
}

BOOST_AUTO_TEST_CASE(a_drained_run_stops_at_its_steps_end_and_goes_on_later) {
  run_control control;
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([&control](const std::string& node) {
    if (node == "a")
      control.request_drain("tea");
  }));
  auto how = app.try_invoke({}, {.thread_id = "t", .control = control});
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::graph_drained));
  BOOST_TEST(how.error().message() == "Graph drained: tea");
  BOOST_TEST(app.get_state({.thread_id = "t"}).next.at(0) == "b");
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == words({"a", "b", "c"}));
}

BOOST_DATA_TEST_CASE(results_do_not_depend_on_the_order_in_which_tasks_finish,
                     boost::unit_test::data::xrange(20u), seed) {
  constexpr int tasks = 8;
  std::vector<gate> gates(tasks);
  state_graph<> g{{{"log", append}}};
  g.add_node("w", [](const value& i) { return state_update{{"log", value::list({i})}}; });
  g.add_node("hold",
             [&gates](const value& i) {
               gates[static_cast<std::size_t>(i.as_int())].pass();
               return state_update{{"log", value::list({i})}};
             },
             {.lane = lane::blocking});
  g.add_conditional_edges(START, [](const state_view&) {
    std::vector<send> out;
    for (int i = 0; i < tasks; ++i)
      out.push_back({"hold", value(i)});
    return out;
  });
  runtime rt{with_memory()};
  auto run = rt.load(g.compile()).start({}, {.thread_id = "t"});
  std::vector<int> order(tasks);
  for (int i = 0; i < tasks; ++i)
    order[static_cast<std::size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937{seed});
  for (int i : order) {
    gates[static_cast<std::size_t>(i)].wait_for(1);
    gates[static_cast<std::size_t>(i)].open();
  }
  auto log = run.get().value().value()["log"];
  for (int i = 0; i < tasks; ++i)
    BOOST_TEST(log[i] == value(i));
}

BOOST_AUTO_TEST_CASE(a_coroutine_body_sleeps_waits_for_jobs_and_fails_like_any_other) {
  using namespace std::chrono_literals;
  state_graph<> g{{{"log", append}}};
  g.add_node("naps", [](const state_view&, context& ctx) -> coro<state_update> {
    co_await ctx.sleep_for(1ms);
    auto captured = std::string(100, 'x'); // long enough to live on the heap
    auto number = ctx.blocking([captured] { return static_cast<int>(captured.size()) - 59; });
    auto n = co_await number;
    auto nothing = ctx.blocking([captured] {});
    co_await nothing;
    std::string caught;
    auto fails = ctx.blocking([captured]() -> int { throw std::runtime_error{"job"}; });
    try {
      co_await fails;
    } catch (const std::runtime_error& e) {
      caught = e.what();
    }
    auto answer = ctx.interrupt("go on?");
    state_update out;
    out.set("log", value::list({value(n + 1), value(caught), answer}));
    co_return out;
  });
  g.add_node("throws", [](const state_view&, context& ctx) -> coro<value> {
    co_await ctx.sleep_for(0ms);
    throw std::out_of_range{"late"};
  });
  g.add_edge(START, "naps");
  g.add_edge("naps", "throws");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto paused = app.invoke({}, {.thread_id = "t"});
  BOOST_TEST(paused.interrupts().at(0).value.as_string() == "go on?");
  command answer;
  answer.resume = "yes";
  auto how = app.try_invoke(answer, {.thread_id = "t"});
  BOOST_REQUIRE(!how);
  BOOST_TEST(how.error().type() == "std::out_of_range");
  auto log = app.get_state({.thread_id = "t"}).values["log"];
  BOOST_TEST(log == value::list({value(42), value("job"), value("yes")}));
}

BOOST_AUTO_TEST_CASE(a_saver_that_fails_at_the_nth_call_ends_the_run_with_its_error) {
  for (auto durable : {durability::sync, durability::async, durability::exit})
    for (int nth = 1; nth < 12; ++nth) {
      auto store = make_memory_saver();
      runtime rt{{.saver = std::make_shared<failing_saver>(store, nth)}};
      auto app = rt.load(three_nodes([](const auto&) {}));
      run_config config{.thread_id = "t", .durability = durable};
      auto how = app.try_invoke({}, config);
      if (!how)
        BOOST_TEST((how.error().code() == errc::storage_full));
      // The stored state is whole: the thread continues, or starts over, and ends the same way.
      auto again = app.get_state({.thread_id = "t"}).config.checkpoint_id.empty()
                     ? app.invoke({}, config)
                     : app.invoke(nullptr, config);
      BOOST_TEST(again.value()["log"] == words({"a", "b", "c"}));
    }
}

BOOST_AUTO_TEST_CASE(
  a_stop_between_a_steps_last_task_and_its_checkpoint_loses_and_repeats_nothing) {
  int in_between = 0;
  for (auto durable : {durability::sync, durability::async})
    for (int nth = 1; nth < 10; ++nth) {
      std::atomic<int> ran{0};
      state_graph<> g{{{"log", append}}};
      for (const char* name : {"a", "b"}) {
        g.add_node(name, [&ran, name] {
          ++ran;
          return state_update{{"log", words({name})}};
        });
        g.add_edge(START, name);
      }
      runtime rt{{.saver = std::make_shared<half_saver>(make_memory_saver(), nth)}};
      auto app = rt.load(g.compile());
      run_config config{.thread_id = "t", .durability = durable};
      if (app.try_invoke({}, config))
        continue;
      auto state = app.get_state({.thread_id = "t"});
      if (state.config.checkpoint_id.empty())
        continue;
      if (state.tasks.empty()) // finished: only the last words of the run were refused
        continue;
      bool all_ran = ran == 2 && state.tasks.size() == 2 && state.next.empty();
      in_between += all_ran;
      BOOST_TEST(app.invoke(nullptr, config).value()["log"] == words({"a", "b"}));
      if (all_ran)
        BOOST_TEST(ran == 2);
    }
  BOOST_TEST(in_between == 2); // once with each durability
}

BOOST_AUTO_TEST_CASE(runs_of_many_threads_at_once_all_end_right) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  std::vector<run_handle> runs;
  for (int i = 0; i < 200; ++i)
    runs.push_back(app.start({}, {.thread_id = "t" + std::to_string(i)}));
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&app, i] {
      for (int k = 0; k < 25; ++k) {
        auto id = "c" + std::to_string(i) + "." + std::to_string(k);
        auto how = app.try_invoke({}, {.thread_id = id});
        if (!how || how->value()["log"].size() != 3)
          BOOST_ERROR("run " + id);
      }
    });
  for (auto& c : callers)
    c.join();
  for (auto& r : runs)
    BOOST_TEST(r.get().value().value()["log"].size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_run_inside_a_body_uses_the_same_runtime) {
  runtime rt{with_memory()};
  auto inner = rt.load(three_nodes([](const auto&) {}));
  state_graph<> g{{{"log", append}}};
  g.add_node("calls", [&inner] {
    return state_update{{"log", inner.invoke({}, {.thread_id = "inner"}).value()["log"]}};
  });
  g.add_edge(START, "calls");
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke({}, {.thread_id = "t"}).value()["log"] == words({"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(bad_options_and_inputs_are_named) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  auto code = [&](const run_input& input, run_config config) {
    auto how = app.try_invoke(input, config);
    return how ? errc::ok : how.error().code();
  };
  BOOST_TEST((code({}, {}) == errc::invalid_config));
  BOOST_TEST((code({}, {.thread_id = "t", .recursion_limit = 0}) == errc::invalid_config));
  BOOST_TEST((code({}, {.thread_id = "t", .output_keys = {"nope"}}) == errc::invalid_config));
  using namespace std::chrono_literals;
  BOOST_TEST((code({}, {.thread_id = "t", .step_timeout = -1ms}) == errc::invalid_config));
  BOOST_TEST((code({}, {.thread_id = "t", .run_timeout = -1ms}) == errc::invalid_config));
  BOOST_TEST((code({}, {.thread_id = std::string(limits::thread_id_bytes_max, 'x')}) == errc::ok));
  BOOST_TEST((code({}, {.thread_id = std::string(limits::thread_id_bytes_max + 1, 'x')})
              == errc::invalid_config));
  BOOST_TEST((code({}, {.thread_id = "t", .interrupt_before = {"nope"}}) == errc::invalid_config));
  BOOST_TEST((code({}, {.thread_id = "t", .interrupt_after = {"*"}}) == errc::ok));
  BOOST_TEST((code(nullptr, {.thread_id = "fresh"}) == errc::empty_input));
  BOOST_TEST((code(command{}, {.thread_id = "fresh"}) == errc::empty_input));
  command answer;
  answer.resume = "x";
  BOOST_TEST((code(answer, {.thread_id = "fresh"}) == errc::empty_input));
  BOOST_TEST((code(command{.resume = value{}}, {.thread_id = "t"}) == errc::empty_input));
  BOOST_TEST((code(value(3), {.thread_id = "number"}) == errc::invalid_update));
  BOOST_TEST((code({}, {.thread_id = "t2", .recursion_limit = 3}) == errc::graph_recursion));
  BOOST_TEST((code({}, {.thread_id = "t3", .recursion_limit = 4}) == errc::ok));
}

BOOST_AUTO_TEST_CASE(a_context_that_is_not_what_the_graph_says_is_refused_before_anything_runs) {
  std::atomic<int> ran{0};
  state_graph<> g{{{"log", append}}};
  g.add_node("n", [&ran](const state_view&, context& ctx) {
    ++ran;
    return state_update{{"log", words({ctx.run_context_as<user>().name.c_str()})}};
  });
  g.add_edge(START, "n");
  g.context_schema<user>();
  runtime rt;
  auto app = rt.load(g.compile());
  auto how = app.try_invoke({}, {.context = {{"name", 7}}});
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::invalid_config));
  BOOST_TEST(how.error().message().find("name") != std::string::npos);
  BOOST_TEST(ran == 0);
  BOOST_TEST(app.invoke({}, {.context = {{"name", "ada"}}}).value()["log"] == words({"ada"}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
