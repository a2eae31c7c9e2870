// Shared by the tests of runs within runs: the ways to run an inner graph, and graphs that ask.
#pragma once

#include "tests/fixtures/small_graphs.hpp"

#include <algorithm>
#include <ostream>

namespace troupe {

/// How a node of the outer graph runs the inner one.
enum class holds { as_node, invokes, awaits };
inline constexpr holds all_ways[] = {holds::as_node, holds::invokes, holds::awaits};
inline std::ostream& operator<<(std::ostream& out, holds way) {
  constexpr const char* names[] = {"as node", "invokes", "awaits"};
  return out << names[static_cast<int>(way)];
}

/// Adds a node that is `inner`, or hands it the whole state and its output on.
inline void add_inner(state_graph<>& g, const std::string& name, const compiled_graph& inner,
                      holds way, node_options options = {}) {
  if (way == holds::as_node)
    return g.add_node(name, inner, std::move(options));
  options.calls = {inner};
  if (way == holds::awaits)
    return g.add_node(
      name,
      [inner](const state_view& s, context& ctx) -> coro<value> {
        auto run = ctx.run(inner, s.to_value());
        auto out = co_await run;
        co_return out;
      },
      std::move(options));
  options.lane = lane::blocking;
  g.add_node(
    name, [inner](const state_view& s, context& ctx) { return ctx.invoke(inner, s.to_value()); },
    std::move(options));
}

/// START → name → END around one inner graph.
inline compiled_graph around(const schema& state, const std::string& name,
                             const compiled_graph& inner, holds way, node_options options = {}) {
  state_graph<> g{state};
  add_inner(g, name, inner, way, std::move(options));
  g.add_edge(START, name);
  return g.compile({.name = "outer"});
}

/// first → ask → last: `first` and `last` count, `ask` asks and writes the answer to `x`.
inline compiled_graph asking(counter& first, counter& last, compile_options options = {}) {
  state_graph<> g{{{"x", last_value}, {"steps", sum}}};
  g.add_node("first", [&first] {
    ++first;
    return state_update{{"steps", 1}};
  });
  g.add_node("ask", [](context& ctx) {
    return state_update{{"x", ctx.interrupt("x?")}, {"steps", 1}};
  });
  g.add_node("last", [&last] {
    ++last;
    return state_update{{"steps", 1}};
  });
  g.add_edge(START, "first");
  g.add_edge("first", "ask");
  g.add_edge("ask", "last");
  return g.compile(std::move(options));
}

inline const schema x_and_steps{{"x", last_value}, {"steps", last_value}};

} // namespace troupe
