// Graphs of one step that run side by side: they begin when a thread of the scheduler turns to
// them.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

// START sends `count` numbers to a graph, whose only node calls `body`.
template <class Body> compiled_graph sends_to_a_graph(int count, Body body) {
  state_graph<> inner{{{"i", last_value}, {"seen", append}}};
  inner.output_schema({{"seen", append}});
  inner.add_node("n", [body](const state_view& s) {
    body(s["i"].as_int());
    return state_update{{"seen", value::list({s["i"]})}};
  });
  inner.add_edge(START, "n");
  state_graph<> outer{{{"i", last_value}, {"seen", append}}};
  outer.add_node("inner", inner.compile());
  outer.add_conditional_edges(START,
                              [count](const state_view&) {
                                std::vector<send> sends;
                                for (int i = 0; i < count; ++i)
                                  sends.push_back(send{"inner", value::map({{"i", i}})});
                                return sends;
                              },
                              {"inner"});
  return outer.compile();
}

std::ptrdiff_t coordinators(const runtime& rt) {
  auto all = rt.actors();
  return std::ranges::count_if(all, [](const actor_info& a) { return a.kind == "run"; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_spread_graphs)

BOOST_AUTO_TEST_CASE(graphs_that_wait_for_a_thread_hold_no_group) {
  gate hold;
  runtime rt{{.worker_threads = 1}};
  auto app = rt.load(sends_to_a_graph(20, [&hold](std::int64_t) { hold.pass(); }));
  auto run = app.start({});
  hold.wait_for(1); // it holds the only thread
  BOOST_TEST(coordinators(rt) == 2);
  hold.open();
  BOOST_TEST(run.get().value().value()["seen"].size() == 20u);
  BOOST_TEST(coordinators(rt) == 2); // the graphs ran one after another
}

BOOST_AUTO_TEST_CASE(a_graph_that_is_given_up_before_it_begins_runs_nothing) {
  gate hold;
  counter ran{0};
  {
    runtime rt{{.worker_threads = 1}};
    auto app = rt.load(sends_to_a_graph(20, [&](std::int64_t i) {
      ++ran;
      if (i == 0)
        throw std::runtime_error{"the first fails"};
      hold.pass(); // the second one holds the only thread of the scheduler
    }));
    auto how = app.try_invoke({}, {.sibling_timeout = std::chrono::milliseconds{1}});
    BOOST_REQUIRE(!how);
    BOOST_TEST((how.error().message().find("the first fails") != std::string::npos));
    hold.open();
  } // the runtime waits for all of them
  BOOST_TEST(ran <= 2);
}

BOOST_AUTO_TEST_CASE(a_runtime_ends_while_graphs_wait_for_a_thread) {
  gate hold;
  auto rt = std::make_unique<runtime>(runtime_options{.worker_threads = 1});
  auto app = rt->load(sends_to_a_graph(20, [&hold](std::int64_t) { hold.pass(); }));
  auto run = app.start({});
  hold.wait_for(1);
  std::thread ends{[&rt] { rt.reset(); }};
  hold.open();
  ends.join();
  auto how = run.get();
  BOOST_TEST((how || how.error().code() == errc::runtime_stopped));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
