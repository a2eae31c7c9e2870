// Graphs in graphs, in three ways: a graph as a node, which shares keys with its parent; a graph
// that a node's body calls, with its own keys; a command from the inner graph to the outer.
//
//   subgraph
#include <troupe/troupe.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace {

// A graph that knows nothing of tickets.
struct translation {
  std::string source, target;
  TROUPE_STATE(translation, source, target)
};

troupe::typed_graph<translation> translator() {
  troupe::state_graph<translation> g;
  g.add_node("look up", [](const translation& t) {
    bool refund = t.source.find("Geld zurück") != std::string::npos;
    return troupe::set(&translation::target, refund ? "I want a refund" : "Where is my order?");
  });
  g.add_edge(troupe::START, "look up");
  return g.compile({.name = "translator"});
}

// The desk shares `request` and `log` with the graph around it; `offer` stays inside.
struct desk_state {
  std::string request;
  std::int64_t offer = 0;
  std::vector<std::string> log;
  TROUPE_STATE(desk_state, request, offer, (log, troupe::append))
};

troupe::typed_graph<desk_state> desk() {
  troupe::state_graph<desk_state> g;
  g.add_node("calculate", [](const desk_state&) { return troupe::set(&desk_state::offer, 20); });
  g.add_node("ask", [](const desk_state& s, troupe::context& ctx) {
    auto question = "\"" + s.request + "\": refund " + std::to_string(s.offer) + " EUR?";
    auto verdict = "the desk says " + ctx.interrupt(question).as<std::string>();
    // Leaves this graph: the node `cashier` belongs to the parent.
    return troupe::command{.update = troupe::state_update{{"log", {verdict}}},
                           .goto_ = "cashier",
                           .graph = troupe::command::PARENT};
  });
  g.add_edge(troupe::START, "calculate");
  g.add_edge("calculate", "ask");
  return g.compile({.name = "desk"});
}

struct ticket {
  std::string text, request;
  std::vector<std::string> log;
  TROUPE_STATE(ticket, text, request, (log, troupe::append))
};

troupe::typed_graph<ticket> office() {
  auto inner = translator();
  auto translate = [inner](const ticket& t,
                           troupe::context& ctx) -> troupe::coro<troupe::update<ticket>> {
    auto run = ctx.run(inner, {{"source", t.text}}); // named, then awaited: no thread waits
    auto out = co_await run;
    co_return troupe::set(&ticket::request, out["target"].as<std::string>());
  };
  troupe::state_graph<ticket> g;
  g.add_node("translate", translate, {.calls = {inner}});
  g.add_node("desk", desk(), {.destinations = {"cashier"}});
  g.add_node("cashier", [](const ticket&) {
    return troupe::set(&ticket::log, std::vector<std::string>{"the cashier pays"});
  });
  g.add_edge(troupe::START, "translate");
  g.add_edge("translate", "desk");
  return g.compile({.name = "office"});
}

} // namespace

int main() {
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  auto app = rt.load(office());
  troupe::run_config config{.thread_id = "ticket-1"};

  auto run = app.invoke({{"text", "Ich will mein Geld zurück"}}, config);
  for (auto& i : run.interrupts())
    std::cout << i.value.as_string() << "\n";

  // While the run waits, both levels can be looked at.
  auto outer = app.get_state(config, true);
  std::cout << "office: next " << outer.next.at(0) << ", state " << outer.values << "\n";
  const auto& inner = *outer.tasks.at(0).state;
  std::cout << "desk:   next " << inner.next.at(0) << ", state " << inner.values << "\n";

  auto done = app.invoke(troupe::command{.resume = "yes"}, config).state();
  for (const auto& line : done.log)
    std::cout << line << "\n";
}
