// The graphs within a compiled graph: those that are nodes, and those that nodes declare to call.
#include "graph/graph_plan.hpp"

namespace troupe {
namespace {

using named_graphs = std::vector<std::pair<std::string, compiled_graph>>;

void list_subgraphs(const graph_plan& plan, const std::string& prefix, bool recurse,
                    named_graphs& out) {
  auto add = [&](std::string path, const compiled_graph& graph) {
    out.emplace_back(path, graph);
    if (recurse)
      list_subgraphs(*graph.plan(), path + "|", recurse, out);
  };
  for (const auto& node : plan.nodes) {
    if (node.body.graph)
      add(prefix + node.name, compiled_graph{node.body.graph});
    for (const auto& called : node.settings->calls)
      add(prefix + node.name, called);
  }
}

} // namespace

std::vector<std::pair<std::string, compiled_graph>> compiled_graph::subgraphs(bool recurse) const {
  named_graphs out;
  list_subgraphs(*plan_, {}, recurse, out);
  return out;
}

} // namespace troupe
