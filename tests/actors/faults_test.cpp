// Faults, on CAF's test scheduler: an actor dies, answers twice or not at all, a channel or a saver
// refuses, user code throws where it must not. In any order of actors, a run ends with a result or
// a typed error, nothing waits for ever, and the thread continues to the same end.
#include "actors/protocol.hpp"
#include "tests/fixtures/simulated_system.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/actor.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <stdexcept>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

const char* const expected_end = R"({"log":["a","b",1,2,"join"],"sum":4,"x":2})";

/// A fan-out over a node, a coroutine, a graph within a graph and two sends, and a join.
compiled_graph fan_out_with_graph() {
  state_graph<> deep{{{"x", last_value}}};
  deep.add_node("deep", [](const state_view& s) {
    return state_update{{"x", s["x"].as_int() + 1}};
  });
  deep.add_edge(START, "deep");
  state_graph<> in{{{"x", last_value}, {"own", append}}};
  in.add_node("p", [] { return state_update{{"own", words({"p"})}}; });
  in.add_node("q", [] { return state_update{{"own", words({"q"})}}; });
  in.add_node("graph", deep.compile());
  in.add_edge(START, "p");
  in.add_edge(START, "q");
  in.add_edge({"p", "q"}, "graph");
  state_graph<> g{{{"log", append}, {"sum", sum}, {"x", last_value}}};
  g.add_node("a", [] { return state_update{{"log", words({"a"})}, {"sum", 1}}; });
  g.add_node("b", [](const state_view&, context& ctx) -> coro<state_update> {
    auto inner = ctx.run(three_nodes([](const auto&) {}));
    auto out = co_await inner;
    state_update update{{"log", words({"b"})}, {"sum", out["log"].size() == 3 ? 1 : 100}};
    co_return update;
  });
  g.add_node("graph", in.compile());
  g.add_node("w", [](const value& i) {
    return state_update{{"log", value::list({i})}, {"sum", 1}};
  });
  g.add_node("join", [] { return log("join"); });
  for (const char* name : {"a", "b", "graph"})
    g.add_edge(START, name);
  g.add_conditional_edges(START, [](const state_view&) {
    return std::vector<send>{{"w", value(1)}, {"w", value(2)}};
  });
  g.add_edge({"a", "b", "graph", "w"}, "join");
  return g.compile();
}

const run_input first_input{{"x", 1}};

/// A runtime in the simulation, with a thread that is resumed until it is done.
struct simulated_thread {
  simulated_system& sim;
  runtime rt;
  app<> graph;
  run_config config{.thread_id = "t"};

  simulated_thread(simulated_system& s, const compiled_graph& g, std::shared_ptr<saver> store,
                   durability durable = durability::async)
    : sim{s},
      rt{s.sys, {.saver = std::move(store)}},
      graph{rt.load(g)} {
    config.durability = durable;
  }
  ~simulated_thread() {
    sim.forget_seen();
    sim.sched.inline_all_enqueues(); // so that the runtime's end finds somebody who runs its actors
  }

  template <class... F> result<run_result> run(const run_input& input, unsigned seed, F... before) {
    auto handle = graph.start(input, config);
    sim.run_shuffled(seed, before...);
    BOOST_REQUIRE(handle.ready()); // nothing is left to run: else it waits for ever
    return handle.get();
  }
  /// Goes on where the thread is, or starts it when nothing was stored.
  result<run_result> again(unsigned seed) {
    bool fresh = graph.get_state(config).config.checkpoint_id.empty();
    return run(fresh ? first_input : run_input{nullptr}, seed);
  }
  void goes_on_to_the_end(unsigned seed) {
    auto how = again(seed);
    BOOST_REQUIRE_MESSAGE(how.has_value(), (how ? std::string{} : how.error().message()));
    BOOST_TEST(to_json(graph.get_state(config).values) == expected_end);
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(actors_faults, simulated_system)

BOOST_DATA_TEST_CASE(without_a_fault_a_run_ends_as_expected, data::xrange(50u), seed) {
  simulated_thread thread{*this, fan_out_with_graph(), make_memory_saver()};
  BOOST_TEST(to_json(thread.run(first_input, seed).value().value()) == expected_end);
}

// ---- savers ---------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_saver_that_fails_the_nth_call_ends_the_run_and_the_thread_goes_on,
                     data::xrange(8u), seed) {
  for (auto durable : {durability::sync, durability::async, durability::exit})
    for (int nth = 1;; ++nth) {
      simulated_system sim;
      auto fails = std::make_shared<failing_saver>(make_memory_saver(), nth);
      simulated_thread thread{sim, fan_out_with_graph(), fails, durable};
      auto how = thread.run(first_input, seed);
      if (!fails->failed()) { // a run that was left alone
        BOOST_TEST(to_json(how.value().value()) == expected_end);
        BOOST_TEST(nth > 1);
        break;
      }
      BOOST_TEST((code_of(how) == errc::storage_full));
      thread.goes_on_to_the_end(seed);
    }
}

BOOST_DATA_TEST_CASE(a_saver_that_throws_at_the_nth_call_does_not_hang_the_run, data::xrange(3u),
                     seed) {
  class throwing_saver : public forwarding_saver {
  public:
    throwing_saver(std::shared_ptr<saver> inner, int nth)
      : forwarding_saver{std::move(inner)},
        left_{nth} {}
    void submit(save_request request, save_ack when,
                std::function<void(result<void>)> done) override {
      if (--left_ == 0)
        throw std::bad_alloc{};
      forwarding_saver::submit(std::move(request), when, std::move(done));
    }

  private:
    int left_;
  };
  for (int nth = 1; nth < 12; ++nth) {
    simulated_system sim;
    simulated_thread thread{sim, fan_out_with_graph(),
                            std::make_shared<throwing_saver>(make_memory_saver(), nth)};
    auto how = thread.run(first_input, seed);
    BOOST_TEST((code_of(how) == errc::ok || code_of(how) == errc::storage_failed));
    thread.goes_on_to_the_end(seed);
  }
}

// ---- actors that die ------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(an_actor_that_dies_at_any_moment_fails_the_run_and_the_thread_goes_on,
                     data::make({"troupe.node", "troupe.channel"}) * data::xrange(6u), kind, seed) {
  int killed = 0;
  for (int moment = 1; moment < 120; moment += 3) {
    simulated_system sim;
    simulated_thread thread{sim, fan_out_with_graph(), make_memory_saver()};
    std::mt19937 rng{seed + static_cast<unsigned>(moment)};
    auto how = thread.run(first_input, seed, [&](int ran) {
      const auto& living = sim.seen(kind);
      if (ran != moment || living.empty())
        return;
      ++killed;
      caf::anon_send_exit(living[rng() % living.size()], caf::exit_reason::kill);
    });
    BOOST_TEST((code_of(how) == errc::ok || code_of(how) == errc::node_lost));
    thread.goes_on_to_the_end(seed);
  }
  BOOST_TEST(killed > 10);
}

BOOST_DATA_TEST_CASE(a_coordinator_that_dies_ends_its_run_and_is_not_used_again, data::xrange(10u),
                     seed) {
  for (int moment = 1; moment < 120; moment += 3) {
    simulated_system sim;
    simulated_thread thread{sim, fan_out_with_graph(), make_memory_saver()};
    std::mt19937 rng{seed + static_cast<unsigned>(moment)};
    auto how = thread.run(first_input, seed, [&](int ran) {
      const auto& living = sim.seen("troupe.run");
      if (ran == moment && !living.empty())
        caf::anon_send_exit(living[rng() % living.size()], caf::exit_reason::kill);
    });
    BOOST_TEST((code_of(how) == errc::ok || code_of(how) == errc::runtime_stopped
                || code_of(how) == errc::node_lost));
    thread.goes_on_to_the_end(seed);
  }
}

// ---- answers twice, late and never ----------------------------------------------------------

BOOST_DATA_TEST_CASE(a_task_that_answers_again_at_any_moment_changes_nothing, data::xrange(40u),
                     seed) {
  std::vector<task_ptr> tasks;
  state_graph<> g{{{"log", append}}};
  for (const char* name : {"a", "b", "c", "d"})
    g.add_node(name, [&tasks, name](const state_view&, context& ctx) {
      tasks.push_back(ctx.scope().shared_from_this());
      return log(name);
    });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("a", "c");
  g.add_edge({"b", "c"}, "d");
  simulated_thread thread{*this, g.compile(), make_memory_saver()};
  std::mt19937 rng{seed};
  for (int again = 0; again < 2; ++again) { // the second run's coordinator hears of the first one's
    auto id = "t" + std::to_string(again);
    thread.config.thread_id = id;
    int repeated = 0;
    auto how = thread.run(run_input{}, seed, [&](int) {
      if (tasks.empty() || seen("troupe.run").empty() || repeated == 50)
        return;
      ++repeated;
      caf::anon_send(seen("troupe.run").front(), task_done{tasks[rng() % tasks.size()]});
    });
    BOOST_TEST(how.value().value()["log"] == words({"a", "b", "c", "d"}));
    BOOST_TEST(repeated > 0);
  }
}

// The second run has the same coordinator; what the timer still had for the first one comes late.
BOOST_DATA_TEST_CASE(deadlines_of_a_run_that_ended_hit_no_later_run_of_its_group, data::xrange(20u),
                     seed) {
  simulated_thread thread{*this, fan_out_with_graph(), make_memory_saver()};
  thread.run(first_input, seed).value();
  auto coordinator = seen("troupe.run").front();
  thread.config.thread_id = "u";
  int told = 0;
  auto how = thread.run(first_input, seed, [&](int) {
    if (++told > 50)
      return;
    caf::anon_send(coordinator, run_deadline{1});
    caf::anon_send(coordinator, step_deadline{1});
  });
  BOOST_TEST(to_json(how.value().value()) == expected_end);
  BOOST_TEST(told > 10);
}

BOOST_AUTO_TEST_CASE(a_task_that_never_answers_ends_with_the_deadline_of_its_step) {
  std::atomic<bool> sleeps{true};
  state_graph<> g{{{"log", append}}};
  g.add_node("a", [] { return log("a"); });
  g.add_node("b", [&sleeps](const state_view&, context& ctx) -> coro<state_update> {
    if (sleeps)
      co_await ctx.sleep_for(1h);
    auto out = log("b");
    co_return out;
  });
  g.add_edge(START, "a");
  g.add_edge(START, "b");
  simulated_thread thread{*this, g.compile(), make_memory_saver()};
  thread.config.step_timeout = 20ms;
  auto run = thread.graph.start({}, thread.config);
  while (!run.ready()) // the timer's thread sends the deadline
    run_shuffled(1);
  auto how = run.get();
  BOOST_REQUIRE((code_of(how) == errc::node_timeout));
  BOOST_TEST(how.error().message().find("`b`") != std::string::npos);
  sleeps = false;
  BOOST_TEST(thread.run(nullptr, 1).value().value()["log"] == words({"a", "b"}));
}

// ---- channels that refuse -------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_channel_that_refuses_fails_the_run_and_leaves_the_thread_as_it_was,
                     data::xrange(20u) * data::make({false, true}), seed, inside) {
  std::atomic<bool> refuses{true};
  auto picky = reduce(
    "picky",
    [&refuses](const value& a, const value& b) {
      if (refuses && b == value(2))
        throw std::runtime_error{"not this one"};
      return value(a.as_int() + b.as_int());
    },
    value(0));
  state_graph<> in{{{"n", picky}, {"log", append}}};
  for (int i = 1; i < 4; ++i) {
    auto name = "w" + std::to_string(i);
    in.add_node(name, [i] { return state_update{{"n", i}, {"log", value::list({i})}}; });
    in.add_edge(START, name);
  }
  auto graph = in.compile();
  if (inside) {
    state_graph<> g{{{"n", last_value}, {"log", append}}};
    g.add_node("graph", graph);
    g.add_edge(START, "graph");
    graph = g.compile();
  }
  simulated_thread thread{*this, graph, make_memory_saver()};
  auto how = thread.run(run_input{}, seed);
  BOOST_REQUIRE((code_of(how) == errc::invalid_update));
  BOOST_TEST(how.error().message().find("not this one") != std::string::npos);
  auto state = thread.graph.get_state(thread.config);
  BOOST_TEST(state.values["log"] == value::list());
  BOOST_TEST(state.next.size() == (inside ? 1u : 3u));
  refuses = false;
  auto out = thread.run(nullptr, seed).value().value();
  BOOST_TEST(out["n"] == value(6));
  BOOST_TEST(out["log"] == value::list({1, 2, 3}));
}

// ---- user code that throws where it must not ---------------------------------------------------

BOOST_AUTO_TEST_CASE(callbacks_and_caches_that_throw_do_not_hang_the_run_nor_a_later_one) {
  struct thrower : lifecycle_callbacks, node_cache {
    void on_resume(const event&) override { throw std::runtime_error{"on_resume"}; }
    void on_interrupt(const event&) override { throw std::runtime_error{"on_interrupt"}; }
    result<std::optional<value>> get(const cache_key&, clock::time_point) override {
      throw std::runtime_error{"get"};
    }
    result<void> set(const cache_key&, const value&, std::optional<clock::time_point>) override {
      throw std::runtime_error{"set"};
    }
    result<void> clear(const std::vector<std::string>&) override { return {}; }
  };
  auto throws = std::make_shared<thrower>();
  state_graph<> g{{{"log", append}}};
  g.add_node("cached", [](const state_view&) { return log("cached"); },
             {.cache_policy = cache_policy{}});
  g.add_node("asks", [](context& ctx) { return log(ctx.interrupt("?").as<std::string>()); });
  g.add_edge(START, "cached");
  g.add_edge("cached", "asks");
  {
    runtime rt{sys, {.saver = make_memory_saver(), .cache = throws}};
    auto app = rt.load(g.compile());
    run_config config{.thread_id = "t", .callbacks = throws};
    for (const auto& input : {run_input{}, run_input{answer("yes")}}) {
      auto run = app.start(input, config);
      run_shuffled(1);
      BOOST_REQUIRE(run.ready());
      BOOST_TEST((code_of(run.get()) == errc::ok));
    }
    BOOST_TEST(app.get_state(config).values["log"] == words({"cached", "yes"}));
    forget_seen();
    sched.inline_all_enqueues();
  }
}

BOOST_AUTO_TEST_CASE(a_retry_predicate_that_throws_fails_the_task_and_hangs_nothing) {
  node_options options;
  options.retry_policy = retry_policy{.initial_interval = 0ns};
  options.retry_policy.retry_on =
    retry_filter{[](const error&) -> bool { throw std::runtime_error{"predicate"}; }};
  state_graph<> g{{{"log", append}}};
  g.add_node(
    "bad", []() -> state_update { throw std::out_of_range{"boom"}; }, options);
  g.add_edge(START, "bad");
  simulated_thread thread{*this, g.compile(), make_memory_saver()};
  auto how = thread.run(run_input{}, 1);
  BOOST_TEST((code_of(how) == errc::node_failed || code_of(how) == errc::node_lost));
  BOOST_TEST((code_of(thread.run(nullptr, 2)) == code_of(how)));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
