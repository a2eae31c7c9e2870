// A coroutine body as a run of its own, for tests of what bodies await.
#pragma once

#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <functional>
#include <utility>

namespace troupe::test {

using coroutine_body = std::function<coro<value>(context&)>;

/// A graph whose only node runs `body`; its answer is the channel `answer`.
inline compiled_graph graph_of(coroutine_body body, node_options options = {}) {
  state_graph<> g{{{"answer", last_value}}};
  g.add_node(
    "body",
    [body = std::move(body)](const state_view&, context& ctx) -> coro<value> {
      auto answer = body(ctx);
      auto given = co_await answer;
      auto update = value{{"answer", given}};
      co_return update;
    },
    std::move(options));
  g.add_edge(START, "body");
  g.add_edge("body", END);
  return g.compile();
}

inline result<value> try_body(runtime& rt, coroutine_body body, const run_config& config = {},
                              node_options options = {}) {
  auto how = rt.load(graph_of(std::move(body), std::move(options)))
               .try_invoke(value{{"answer", nullptr}}, config);
  if (!how)
    return how.error();
  return how->output["answer"];
}

} // namespace troupe::test
