// Graphs for the tests of `troupe run`: what they do twice is seen.
#include <troupe/troupe.hpp>

#include <cstdint>
#include <fstream>
#include <string>

namespace {

struct order {
  std::string who;
  std::string done;
  TROUPE_STATE(order, who, done)
};

struct number {
  std::int64_t count = 0;
  std::string read;
  TROUPE_STATE(number, count, read)
};

} // namespace

TROUPE_GRAPH(pay) {
  troupe::state_graph<order> g;
  g.add_node("pay", [](const order& o) {
    std::ofstream{"paid", std::ios::app} << o.who << std::endl;
    return troupe::set(&order::done, "paid " + o.who);
  });
  g.add_edge(troupe::START, "pay");
  return g.compile({.name = "pay"});
}

TROUPE_GRAPH(reads_context) {
  troupe::state_graph<number> g;
  g.add_node("read", [](const number&, troupe::context& ctx) {
    return troupe::set(&number::read, ctx.run_context()["user"].as<std::string>());
  });
  g.add_edge(troupe::START, "read");
  return g.compile({.name = "reads_context"});
}

TROUPE_GRAPH(wrong_type) {
  troupe::state_graph<order> g;
  g.add_node("write", [](const order&) { return troupe::value::map({{"done", 5}}); });
  g.add_node("read", [](const order& o) { return troupe::set(&order::who, o.done); });
  g.add_edge(troupe::START, "write");
  g.add_edge("write", "read");
  return g.compile({.name = "wrong_type"});
}

TROUPE_GRAPH(asks_number) {
  troupe::state_graph<number> g;
  g.add_node("ask", [](const number&, troupe::context& ctx) {
    return troupe::set(&number::count, ctx.interrupt_as<std::int64_t>("how many?"));
  });
  g.add_edge(troupe::START, "ask");
  return g.compile({.name = "asks_number"});
}
