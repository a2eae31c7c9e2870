#include "tests/fuzz/graph_model.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

std::string join_name(const edge_design& e) {
  std::string out;
  for (const auto& f : e.from)
    out += (out.empty() ? "" : "+") + f;
  return "join:" + out + ":" + e.to;
}

} // namespace

std::string branch_to(const std::string& node) {
  return "branch:to:" + node;
}

graph_model::graph_model(std::shared_ptr<const graph_design> g) : design{std::move(g)} {
  for (const auto& c : design->channels) {
    channels.emplace_back(c.name, rule_of(c.rule));
    keys.push_back(c.name);
    has_delta = has_delta || c.rule == channel_rule::delta_append;
  }
  inputs = design->inputs.empty() ? keys : design->inputs;
  outputs = design->outputs.empty() ? keys : design->outputs;
  channels.emplace_back(START, cell_rule{.is = cell_rule::ephemeral});
  channels.emplace_back(tasks_channel, cell_rule{.is = cell_rule::topic});

  nodes.push_back({.name = START, .triggers = {START}, .reads = keys, .writes = inputs});
  for (const auto& n : design->nodes) {
    node_model m{.name = n.name,
                 .design = &n,
                 .triggers = {branch_to(n.name)},
                 .reads = n.reads.empty() ? keys : n.reads,
                 .writes = keys};
    if (n.inner)
      m.inner = std::make_shared<graph_model>(n.inner);
    nodes.push_back(std::move(m));
    cell_rule armed{.is = cell_rule::ephemeral, .guard = false};
    if (n.defer)
      armed.is = cell_rule::last_after_finish;
    channels.emplace_back(branch_to(n.name), armed);
  }
  auto find = [this](const std::string& name) {
    return std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.name == name; });
  };
  for (const auto& e : design->edges) {
    if (e.to == END)
      continue;
    if (e.from.size() == 1) {
      find(e.from.front())->edges.push_back(e.to);
      continue;
    }
    cell_rule barrier{.is = cell_rule::barrier, .names = {e.from.begin(), e.from.end()}};
    barrier.after_finish = find(e.to)->design->defer;
    if (place(join_name(e)) == channels.size())
      channels.emplace_back(join_name(e), barrier);
    find(e.to)->triggers.push_back(join_name(e));
    for (const auto& from : e.from)
      find(from)->joins.push_back(join_name(e));
  }
  for (const auto& r : design->routes)
    find(r.from)->routes.push_back(&r);
  for (auto& n : nodes) {
    std::sort(n.triggers.begin(), n.triggers.end());
    for (const auto& t : n.triggers)
      triggered[t].insert(n.name);
  }
}

const node_model* graph_model::node(const std::string& name) const {
  auto at = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.name == name; });
  return at == nodes.end() ? nullptr : &*at;
}

std::size_t graph_model::place(const std::string& channel) const {
  auto at = std::find_if(channels.begin(), channels.end(),
                         [&](const auto& c) { return c.first == channel; });
  return static_cast<std::size_t>(at - channels.begin());
}

} // namespace troupe::fuzz
