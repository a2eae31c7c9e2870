// A graph in a library: TROUPE_TEST_STEP is what its body adds, TROUPE_TEST_VERSION its version.
#include <troupe/cluster.hpp>
#include <troupe/graph_library.hpp>

// As types of users often are, not in an unnamed namespace: the dynamic loader would unite the
// variable of two builds in one process.
namespace counting {

inline std::int64_t step() {
  static std::int64_t kept = TROUPE_TEST_STEP;
  return kept;
}

} // namespace counting

namespace {

using troupe::sum;

struct counter {
  std::int64_t count = 0;
  std::int64_t until = 3;
  TROUPE_STATE(counter, (count, sum), until)
};

} // namespace

TROUPE_GRAPH(counts) {
  troupe::state_graph<counter> g;
  g.add_node("work", [](const counter&) { return troupe::set(&counter::count, counting::step()); },
             {.placement = troupe::on_worker{}});
  g.add_edge(troupe::START, "work");
  g.add_conditional_edges("work",
                          [](const counter& s) { return s.count < s.until ? "work" : troupe::END; },
                          {"work", troupe::END});
  return g.compile({.name = "counts", .version = TROUPE_TEST_VERSION});
}
