// graph_forms: nodes and edges, with opened graphs in place of their nodes.
#include "server/rules/graph_forms.hpp"

#include "graph/json_schema.hpp"

#include <troupe/control.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {

namespace {

struct flat_graph {
  std::vector<std::string> nodes;
  std::vector<compiled_graph::edge> edges;
};

// An edge to or from `node` becomes one for each of `ends`.
void replace_end(std::vector<compiled_graph::edge>& edges, const std::string& node,
                 std::string compiled_graph::edge::*end, const std::vector<std::string>& ends) {
  std::vector<compiled_graph::edge> out;
  for (auto& one : edges)
    if (one.*end != node)
      out.push_back(std::move(one));
    else
      for (const auto& instead : ends) {
        auto copy = one;
        copy.*end = instead;
        out.push_back(std::move(copy));
      }
  edges = std::move(out);
}

flat_graph flat(const compiled_graph& graph, std::size_t levels) {
  using edge = compiled_graph::edge;
  flat_graph out{.nodes = {START}, .edges = graph.edges()};
  std::ranges::copy(graph.nodes(), std::back_inserter(out.nodes));
  auto place = [&out](const std::string& node) {
    return std::ranges::find(out.nodes, node) - out.nodes.begin();
  };
  std::ranges::stable_sort(out.edges, {}, [&](const edge& e) { return place(e.from); });
  if (std::ranges::any_of(out.edges, [](const edge& e) { return e.to == END; }))
    out.nodes.emplace_back(END);
  if (levels == 0)
    return out;
  for (const auto& [name, inner] : graph.subgraphs()) {
    auto at = std::ranges::find(out.nodes, name);
    if (at == out.nodes.end())
      continue;
    out.nodes.erase(at);
    auto opened = flat(inner, levels - 1);
    auto prefix = name + ':';
    std::vector<std::string> first;
    std::vector<std::string> last;
    for (const auto& e : opened.edges) {
      if (e.from == START)
        first.push_back(prefix + e.to);
      if (e.to == END)
        last.push_back(prefix + e.from);
    }
    replace_end(out.edges, name, &edge::to, first);
    replace_end(out.edges, name, &edge::from, last);
    for (const auto& node : opened.nodes)
      if (node != START && node != END)
        out.nodes.push_back(prefix + node);
    for (auto& e : opened.edges)
      if (e.from != START && e.to != END)
        out.edges.push_back({prefix + e.from, prefix + e.to, e.label, e.conditional});
  }
  return out;
}

value node_form(const std::string& name) {
  if (name == END)
    return value::map({{"id", name}});
  return value::map({{"id", name}, {"type", "runnable"}, {"data", value::map({{"name", name}})}});
}

value edge_form(const compiled_graph::edge& e) {
  auto out = value::map({{"source", e.from}, {"target", e.to}});
  if (e.conditional)
    out = out.with("conditional", true);
  return e.label.empty() ? out : out.with("data", e.label);
}

value titled(const value& schema, const std::string& title) {
  return schema.is_map() && !schema.contains("title") ? schema.with("title", title) : schema;
}

} // namespace

value graph_form(const compiled_graph& graph, std::size_t levels) {
  auto shown = flat(graph, levels);
  std::vector<value> nodes;
  for (const auto& one : shown.nodes)
    nodes.push_back(node_form(one));
  std::vector<value> edges;
  for (const auto& one : shown.edges)
    edges.push_back(edge_form(one));
  return value::map(
    {{"nodes", value::list(std::move(nodes))}, {"edges", value::list(std::move(edges))}});
}

value schemas_form(const compiled_graph& graph) {
  auto context = graph.context_jsonschema();
  return value::map(
    {{"input_schema", graph.input_jsonschema()},
     {"output_schema", graph.output_jsonschema()},
     {"state_schema", titled(state_jsonschema(*graph.plan()), graph.name() + "_state")},
     {"config_schema", context.is_null() ? value::map() : context},
     {"context_schema", context}});
}

} // namespace troupe::server
