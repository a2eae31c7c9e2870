// The graphs within a compiled graph: those that are nodes, and those that nodes declare to call.
#include "graph/graph_plan.hpp"

#include <string_view>

namespace troupe {
namespace {

using named_graphs = std::vector<std::pair<std::string, compiled_graph>>;

void list_subgraphs(const graph_plan& plan, const std::string& prefix, bool recurse,
                    std::string_view ns, named_graphs& out) {
  auto add = [&](std::string path, const compiled_graph& graph) {
    if (ns.empty() || path == ns)
      out.emplace_back(path, graph);
    if (recurse && (ns.empty() || ns.starts_with(path + "|")))
      list_subgraphs(*graph.plan(), path + "|", recurse, ns, out);
  };
  for (const auto& node : plan.nodes) {
    if (node.body.graph())
      add(prefix + node.name, compiled_graph{node.body.graph()});
    for (const auto& called : node.settings->calls)
      add(prefix + node.name, called);
  }
}

} // namespace

std::vector<std::pair<std::string, compiled_graph>>
compiled_graph::subgraphs(bool recurse, std::string_view ns) const {
  named_graphs out;
  list_subgraphs(*plan_, {}, recurse, ns, out);
  return out;
}

} // namespace troupe
