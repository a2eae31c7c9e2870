// The smallest program: a counter that counts to three, on a thread that is kept.
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
  g.add_conditional_edges("add",
                          [](const counter& s) { return s.count < 3 ? "add" : troupe::END; });

  troupe::runtime rt{{.data_dir = "data"}};
  auto app = rt.load(g.compile());
  std::cout << app.invoke({}, {.thread_id = "t1"}).state().count << "\n"; // 3; run again: 4
}
