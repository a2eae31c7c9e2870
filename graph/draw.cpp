// The edges of a compiled graph as they are drawn: which node may run after which.
#include "graph/graph_plan.hpp"
#include "graph/names.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace troupe {
namespace {

using edge = compiled_graph::edge;

// ---- where a node may go --------------------------------------------------------------------

struct exit {
  node_index to; // no_index: END
  std::string_view label;
};

// The destinations that a node's commands and routes declare. A route without a path map declares
// none.
std::vector<exit> conditional_exits(const graph_plan& plan, const plan_node& node) {
  std::vector<exit> out;
  for (const auto& to : node.settings->destinations)
    out.push_back({plan.find_node(to), {}});
  for (const auto& route : node.routes)
    for (const auto& [label, to] : route.map.entries())
      out.push_back({plan.find_node(to), label});
  return out;
}

// Which nodes have written to each channel so far.
class arrivals {
public:
  explicit arrivals(const graph_plan& plan) : plan_{plan}, from_(plan.channels.size()) {}

  void add(channel_index c, node_index from) { from_[c].insert(from); }
  void clear(channel_index c) { from_[c].clear(); }
  /// An edge is complete with one node, a join with all of its nodes.
  bool complete(channel_index c) const {
    return from_[c].size() >= std::max<std::size_t>(plan_.channels[c].spec.names.size(), 1);
  }

private:
  const graph_plan& plan_;
  std::vector<std::set<node_index>> from_;
};

node_index target(const graph_plan& plan, channel_index c) {
  return plan.channels[c].triggers[0];
}

// ---- reachable nodes ------------------------------------------------------------------------

class reachable {
public:
  explicit reachable(const graph_plan& plan)
    : plan_{plan},
      arrived_{plan},
      nodes_(plan.nodes.size()) {
    reach(0);
    while (!open_.empty()) {
      auto n = open_.back();
      open_.pop_back();
      leave(n);
    }
  }

  bool node(node_index n) const { return nodes_[n]; }
  bool channel(channel_index c) const { return arrived_.complete(c); }

private:
  void reach(node_index n) {
    if (n == no_index || nodes_[n])
      return;
    nodes_[n] = true;
    open_.push_back(n);
  }

  void leave(node_index from) {
    for (const auto& w : plan_.nodes[from].writes) {
      arrived_.add(w.channel, from);
      if (arrived_.complete(w.channel))
        reach(target(plan_, w.channel));
    }
    for (const auto& e : conditional_exits(plan_, plan_.nodes[from]))
      reach(e.to);
  }

  const graph_plan& plan_;
  arrivals arrived_;
  std::vector<bool> nodes_;
  std::vector<node_index> open_;
};

// ---- a rehearsal ----------------------------------------------------------------------------

// A rehearsal follows the edges of a graph without running it: edges lead on each time, routes and
// destinations the first time only. So it ends unless plain edges form a cycle.
// Source: langgraph/pregel/_draw.py, draw_graph.
class rehearsal {
public:
  static constexpr std::size_t steps_max = 1000;

  explicit rehearsal(const graph_plan& plan)
    : plan_{plan},
      arrived_{plan},
      left_once_(plan.nodes.size()) {}

  /// The node that runs alone in the last step; no_index when the last step has several nodes, or
  /// is missing.
  node_index last_alone() {
    std::set<node_index> running{0}, last;
    for (std::size_t step = 0; step < steps_max && !running.empty(); ++step)
      last = std::exchange(running, follow(running));
    return running.empty() && last.size() == 1 ? *last.begin() : no_index;
  }

private:
  std::set<node_index> follow(const std::set<node_index>& running) {
    std::set<channel_index> written;
    for (auto n : running)
      leave(n, written);
    std::set<node_index> next;
    for (auto c : written)
      if (arrived_.complete(c)) {
        if (waits_for_finish(plan_.channels[c].spec))
          waiting_.insert(c);
        else
          fire(c, next);
      }
    if (next.empty())
      for (auto c : std::exchange(waiting_, {}))
        fire(c, next);
    return next;
  }

  void leave(node_index n, std::set<channel_index>& written) {
    auto write = [&](channel_index c) {
      arrived_.add(c, n);
      written.insert(c);
    };
    for (const auto& w : plan_.nodes[n].writes)
      write(w.channel);
    if (left_once_[n])
      return;
    left_once_[n] = true;
    for (const auto& e : conditional_exits(plan_, plan_.nodes[n]))
      if (e.to != no_index)
        write(plan_.nodes[e.to].branch);
  }

  void fire(channel_index c, std::set<node_index>& next) {
    arrived_.clear(c);
    next.insert(target(plan_, c));
  }

  const graph_plan& plan_;
  arrivals arrived_;
  std::vector<bool> left_once_;
  std::set<channel_index> waiting_; // joins that wait until nothing else is left to run
};

// ---- edges ----------------------------------------------------------------------------------

std::string name_of(const graph_plan& plan, node_index n) {
  return n == no_index ? std::string{names::end} : plan.nodes[n].name;
}

// All edges that reachable nodes declare.
std::vector<edge> declared_edges(const graph_plan& plan) {
  reachable reached{plan};
  std::vector<edge> out;
  for (node_index n = 0; n < plan.nodes.size(); ++n) {
    if (!reached.node(n))
      continue;
    const auto& node = plan.nodes[n];
    for (const auto& w : node.writes)
      if (reached.channel(w.channel))
        out.push_back({node.name, name_of(plan, target(plan, w.channel)), {}, false});
    for (const auto& e : conditional_exits(plan, node))
      out.push_back({node.name, name_of(plan, e.to), std::string{e.label}, true});
  }
  return out;
}

// Keeps one edge for each pair of nodes: a conditional edge before a plain one, then the one with
// the first label.
void keep_one_a_pair(std::vector<edge>& edges) {
  std::ranges::sort(edges, {}, [](const edge& e) {
    return std::make_tuple(std::string_view{e.from}, std::string_view{e.to}, !e.conditional,
                           std::string_view{e.label});
  });
  auto same_ends = [](const edge& a, const edge& b) { return a.from == b.from && a.to == b.to; };
  edges.erase(std::unique(edges.begin(), edges.end(), same_ends), edges.end());
  for (auto& e : edges)
    if (e.label == e.to)
      e.label.clear(); // the label repeats the name of the target
}

// Nodes without successors lead to END. Without such nodes, and without another edge to END, the
// node in which a run may stop does.
std::vector<edge> end_edges(const graph_plan& plan, const std::vector<edge>& edges) {
  std::set<std::string_view> last;
  for (const auto& e : edges)
    last.insert(e.to);
  bool ends = last.erase(names::end) > 0;
  for (const auto& e : edges)
    last.erase(e.from);
  std::vector<edge> out;
  for (auto from : last)
    out.push_back({std::string{from}, std::string{names::end}, {}, false});
  if (!out.empty() || ends)
    return out;
  if (auto n = rehearsal{plan}.last_alone(); n != no_index)
    out.push_back({plan.nodes[n].name, std::string{names::end}, {}, true});
  return out;
}

// An entrypoint has no edges to other nodes: it runs once, and may stop anywhere.
std::vector<edge> workflow_edges(const graph_plan& plan) {
  const auto& name = plan.nodes[1].name;
  return {{std::string{names::start}, name, {}, false}, {name, std::string{names::end}, {}, true}};
}

} // namespace

bool operator==(const edge& a, const edge& b) noexcept = default;
std::strong_ordering operator<=>(const edge& a, const edge& b) noexcept = default;

std::vector<compiled_graph::edge> compiled_graph::edges() const {
  if (plan_->functional)
    return workflow_edges(*plan_);
  auto out = declared_edges(*plan_);
  keep_one_a_pair(out);
  std::ranges::move(end_edges(*plan_, out), std::back_inserter(out));
  std::ranges::sort(out);
  return out;
}

} // namespace troupe
