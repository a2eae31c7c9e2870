#include <troupe/troupe.hpp>

#include <iostream>

struct counter {
  std::int64_t count = 0;
  TROUPE_STATE(counter, (count, troupe::sum))
};

int main() {
  troupe::state_graph<counter> g;
  g.add_node("add", [](const counter&) { return troupe::set(&counter::count, 1); });
  g.add_edge(troupe::START, "add");
  troupe::runtime rt{{}};
  std::cout << rt.load(g.compile()).invoke({}).state().count << "\n";
}
