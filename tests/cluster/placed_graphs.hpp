// Graphs that tests of workers place elsewhere.
#pragma once

#include <troupe/troupe.hpp>

namespace troupe {

inline const schema placed_numbers{{"x", last_value}, {"log", append}};

/// Adds one to `x`, then asks how much more.
inline compiled_graph asking_graph() {
  state_graph<> g{placed_numbers};
  g.add_node("one", [](const state_view& s) { return value{{"x", s["x"].as_int() + 1}}; });
  g.add_node("ask", [](const state_view& s, context& ctx) -> value {
    return {{"x", s["x"].as_int() + ctx.interrupt(value("more?")).as_int()}};
  });
  g.add_edge(START, "one");
  g.add_edge("one", "ask");
  return g.compile({.name = "inner"});
}

/// A graph of that one, which runs elsewhere.
inline compiled_graph outer_asking_graph(on_worker where = {}) {
  state_graph<> g{placed_numbers};
  g.add_node("sub", asking_graph(), {.placement = std::move(where)});
  g.add_edge(START, "sub");
  return g.compile({.name = "outer"});
}

} // namespace troupe
