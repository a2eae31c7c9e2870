// Graphs on a server of this process, at any free port.
#pragma once

#include "tests/client/scripted_server.hpp"

#include <troupe/client.hpp>
#include <troupe/server.hpp>
#include <troupe/state_graph.hpp>

#include <string>

namespace troupe::test {

/// Adds 1 to `n`.
inline compiled_graph adder() {
  state_graph<> g{{{"n", sum}}};
  g.add_node("add", [] { return state_update{{"n", 1}}; });
  g.add_edge(START, "add");
  return g.compile({.name = "adder"});
}

/// Asks whether to write the draft, and writes the answer.
inline compiled_graph approval() {
  state_graph<> g{{{"draft", last_value}, {"answer", last_value}}};
  g.add_node("write", [](const state_view& s) {
    return state_update{{"draft", s["draft"].is_null() ? value("hello") : s["draft"]}};
  });
  g.add_node("ask", [](const state_view& s, context& ctx) {
    return state_update{{"answer", ctx.interrupt(value::map({{"question", s["draft"]}}))}};
  });
  g.add_edge(START, "write");
  g.add_edge("write", "ask");
  return g.compile({.name = "approval"});
}

/// Fails, with a class of its own.
inline compiled_graph failing() {
  state_graph<> g{{{"n", sum}}};
  g.add_node("fail", [](const state_view&) -> state_update {
    throw node_error{"ValueError", "boom happened"};
  });
  g.add_edge(START, "fail");
  return g.compile({.name = "failing"});
}

/// A graph with a graph in it, and a message.
inline compiled_graph nested() {
  state_graph<> inner{{{"n", sum}}};
  inner.add_node("step", [](const state_view&, context& ctx) {
    ctx.write("inside");
    return state_update{{"n", 1}};
  });
  inner.add_edge(START, "step");
  state_graph<> g{{{"n", sum}}};
  g.add_node("inner", inner.compile({.name = "inner"}));
  g.add_edge(START, "inner");
  return g.compile({.name = "nested"});
}

/// Shows what came with the config.
inline compiled_graph shows_config() {
  state_graph<> g{{{"seen", last_value}}};
  g.add_node("look", [](const state_view&, context& ctx) {
    return state_update{{"seen", value::map({{"configurable", ctx.configurable()},
                                             {"metadata", ctx.metadata()},
                                             {"tags", value::of(ctx.config().tags)}})}};
  });
  g.add_edge(START, "look");
  return g.compile({.name = "shows_config"});
}

class served_graphs {
public:
  agent_server server{{.graphs = {{"adder", adder()},
                                  {"approval", approval()},
                                  {"failing", failing()},
                                  {"nested", nested()},
                                  {"shows_config", shows_config()}},
                       .port = 0,
                       .worker_threads = 2}};
  agent_client client{options_for("http://127.0.0.1:" + std::to_string(server.port()))};
};

} // namespace troupe::test
