// Whole runs on CAF's test scheduler: the next actor to run is drawn from a seed.
#include "tests/fixtures/simulated_system.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/actor.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <string_view>

namespace troupe {
namespace {

/// A fan-out over two reducers and a join, then a send each.
compiled_graph busy_graph() {
  state_graph<> g{{{"log", append}, {"sum", sum}}};
  for (const char* name : {"c", "a", "b"}) {
    g.add_node(name, [name] { return state_update{{"log", words({name})}, {"sum", 1}}; });
    g.add_edge(START, name);
  }
  g.add_node("join", [](const state_view& s) {
    return state_update{{"log", value::list({s["log"].size()})}};
  });
  g.add_edge({"a", "b", "c"}, "join");
  g.add_node("w", [](const value& i) { return state_update{{"log", value::list({i})}}; });
  g.add_conditional_edges("join", [](const state_view&) {
    std::vector<send> out;
    for (int i = 0; i < 5; ++i)
      out.push_back({"w", value(i)});
    return out;
  });
  return g.compile();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(actors_simulation, simulated_system)

BOOST_DATA_TEST_CASE(a_run_gives_the_same_result_whatever_actor_runs_next,
                     boost::unit_test::data::xrange(100u), seed) {
  {
    runtime rt{sys, {.saver = make_memory_saver()}};
    auto app = rt.load(busy_graph());
    for (int again = 0; again < 2; ++again) { // the second run reuses the group of the first
      auto run = app.start({}, {.thread_id = "t" + std::to_string(again)});
      run_shuffled(seed);
      BOOST_REQUIRE(run.ready());
      auto out = run.get().value().value();
      BOOST_TEST(to_json(out) == R"({"log":["a","b","c",3,0,1,2,3,4],"sum":3})");
    }
    sched.inline_all_enqueues(); // so that the runtime's end finds somebody who runs its actors
  }
}

BOOST_DATA_TEST_CASE(an_actor_that_dies_fails_the_run_and_the_thread_goes_on,
                     boost::unit_test::data::make({"troupe.node", "troupe.channel"}), kind) {
  bool waits = true;
  state_graph<> g{{{"log", append}}};
  g.add_node("a", [] { return state_update{{"log", words({"a"})}}; });
  g.add_node("b", [&waits](const state_view&, context& ctx) -> coro<state_update> {
    if (waits)
      co_await ctx.sleep_for(std::chrono::hours{1});
    state_update out{{"log", words({"b"})}};
    co_return out;
  });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  runtime rt{sys, {.saver = make_memory_saver()}};
  auto app = rt.load(g.compile());
  caf::actor victim; // the last one seen: the actor of b, or of the one channel
  auto run_jobs = [&] {
    for (; sched.has_job(); sched.run_once())
      if (auto* actor = dynamic_cast<caf::event_based_actor*>(sched.jobs.front());
          actor && std::string_view{actor->name()} == kind)
        victim = caf::actor_cast<caf::actor>(actor);
  };
  auto run = app.start({}, {.thread_id = "t"});
  run_jobs();
  BOOST_REQUIRE(!run.ready()); // b sleeps
  BOOST_REQUIRE((victim != nullptr));
  caf::anon_send_exit(victim, caf::exit_reason::kill);
  run_jobs();
  BOOST_REQUIRE(run.ready());
  auto how = run.get();
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::node_lost));
  waits = false;
  auto again = app.start(nullptr, {.thread_id = "t"});
  run_jobs();
  BOOST_REQUIRE(again.ready());
  BOOST_TEST(again.get().value().value()["log"] == words({"a", "b"}));
  victim = nullptr;
  sched.inline_all_enqueues();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
