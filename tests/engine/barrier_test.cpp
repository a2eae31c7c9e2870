// Determinism at scale: whatever order a hundred tasks end in, the step gives the same bytes.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr int nodes = 100;
#ifdef TROUPE_SANITIZE
constexpr int rounds = 500;
#else
constexpr int rounds = 10'000;
#endif

/// Not commutative, not associative: any other order gives another number.
value chain(const value& before, const value& next) {
  auto mixed = static_cast<std::uint64_t>(before.as_int()) * 6364136223846793005u
               + static_cast<std::uint64_t>(next.as_int());
  return value(static_cast<std::int64_t>(mixed >> 1));
}

state_update what_node_says(int i) {
  return {{"chain", i + 1},
          {"log", value::list({i})},
          {"map", value::map({{"first", i}, {"n" + std::to_string(i % 7), i}})},
          {"last", i}};
}

/// A hundred nodes in all lanes, whose writes meet at one join. One in ten waits for a thread of
/// the blocking lane, itself or with a job.
compiled_graph hundred() {
  state_graph<> g{{{"chain", reduce("chain", chain, value(0))},
                   {"log", append},
                   {"map", merge},
                   {"last", any_value},
                   {"joined", last_value}}};
  std::vector<std::string> names;
  for (int i = 0; i < nodes; ++i) {
    auto& name = names.emplace_back("node " + std::to_string(i));
    auto says = [i](const state_view&) { return what_node_says(i); };
    if (i % 20 == 0)
      g.add_node(name, says, {.lane = lane::blocking});
    else if (i % 20 == 10)
      g.add_node(name, [i](const state_view&, context& ctx) -> coro<state_update> {
        auto job = ctx.blocking([i] { return what_node_says(i); });
        auto out = co_await job;
        co_return out;
      });
    else
      g.add_node(name, says);
    g.add_edge(START, name);
  }
  g.add_node("join", [](const state_view& s) { return state_update{{"joined", s["log"].size()}}; });
  g.add_edge(names, "join");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_barrier)

BOOST_AUTO_TEST_CASE(a_hundred_nodes_that_meet_at_one_barrier_give_the_same_bytes_every_time) {
  runtime rt{{.blocking_threads = 4}};
  auto app = rt.load(hundred());
  auto out = app.invoke({}).value();
  BOOST_TEST(out["joined"] == value(nodes));
  auto expected = to_msgpack(out).value();
  int differ = 0;
  for (int round = 1; round < rounds; ++round)
    differ += to_msgpack(app.invoke({}).value()).value() != expected;
  BOOST_TEST(differ == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
