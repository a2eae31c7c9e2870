// The graphs that troupe-bench-serving asks a server for.
#include <troupe/graph_library.hpp>
#include <troupe/troupe.hpp>

#include <chrono>

namespace troupe::bench {

namespace {

state_update increment(const state_view& state) {
  return state_update{}.set("counter", state["counter"].as_int() + 1);
}

coro<state_update> wait_an_hour(const state_view&, context& ctx) {
  co_await ctx.sleep_for(std::chrono::hours{1});
  co_return state_update{};
}

/// Ten pieces, 20 ms apart, each with the time at which it was written. Units: nanoseconds of the
/// steady clock, which all processes of a machine share.
coro<state_update> speak(const state_view&, context& ctx) {
  for (int i = 0; i < 10; ++i) {
    co_await ctx.sleep_for(std::chrono::milliseconds{20});
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    ctx.write(value(std::chrono::nanoseconds{now}.count()));
  }
  co_return state_update{};
}

} // namespace

TROUPE_GRAPH(chain3) {
  state_graph<> graph{schema{{"counter", last_value}}};
  for (const char* name : {"a", "b", "c"})
    graph.add_node(name, increment);
  graph.add_edge(START, "a");
  graph.add_edge("a", "b");
  graph.add_edge("b", "c");
  graph.add_edge("c", END);
  return graph.compile();
}

TROUPE_GRAPH(parked) {
  state_graph<> graph{schema{{"counter", last_value}}};
  graph.add_node("wait", wait_an_hour);
  graph.add_edge(START, "wait");
  graph.add_edge("wait", END);
  return graph.compile();
}

TROUPE_GRAPH(speaking) {
  state_graph<> graph{schema{{"counter", last_value}}};
  graph.add_node("speak", speak);
  graph.add_edge(START, "speak");
  graph.add_edge("speak", END);
  return graph.compile();
}

} // namespace troupe::bench
