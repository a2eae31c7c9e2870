// Whole runs on CAF's test scheduler: the next actor to run is drawn from a seed.
#include "tests/coordinator_fixture.hpp"

#include <troupe/actor.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <random>

namespace troupe {
namespace {

struct simulated_system {
  caf::actor_system_config config;
  caf::actor_system sys;
  caf::scheduler::test_coordinator& sched;

  simulated_system()
    : sys{config.set("scheduler.policy", caf::atom("testing"))},
      sched{dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler())} {}

  /// Runs every queued job, in an order drawn from `seed`.
  void run_shuffled(unsigned seed) {
    for (std::mt19937 rng{seed}; sched.has_job(); sched.run_once()) {
      std::uniform_int_distribution<std::size_t> pick{0, sched.jobs.size() - 1};
      std::swap(sched.jobs.front(), sched.jobs[pick(rng)]);
    }
  }
};

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
      auto out = run.get().value().output;
      BOOST_TEST(to_json(out) == R"({"log":["a","b","c",3,0,1,2,3,4],"sum":3})");
    }
    sched.inline_all_enqueues(); // so that the runtime's end finds somebody who runs its actors
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
