// The builder: collects nodes, edges and routes, and refuses each that is wrong by itself.
#include <troupe/state_graph.hpp>

#include "graph/graph_plan.hpp"
#include "graph/graph_spec.hpp"
#include "graph/names.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

error refused(std::string text) {
  return {errc::invalid_graph, std::move(text)};
}

std::string in_quotes(std::string_view name) {
  return "`" + std::string{name} + "`";
}

// ---- channels -------------------------------------------------------------------------------

void refuse_repeated_keys(const schema& keys) {
  std::vector<std::string_view> sorted;
  sorted.reserve(keys.channels.size());
  for (const auto& [key, spec] : keys.channels)
    sorted.push_back(key);
  std::ranges::sort(sorted);
  auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    throw refused("Channel '" + std::string{*twice} + "' is declared twice in one schema");
}

bool agree(const channel_spec& known, const channel_spec& again) {
  return known == again || again.kind == channel_kind::last_value;
}

void check_channel(const graph_spec& spec, const std::string& key, const channel_spec& channel) {
  if (names::reserved_channel(key))
    throw refused((channel.managed() ? "Managed name '" : "Channel name '") + key
                  + "' is reserved");
  auto known = spec.channel_at.find(key);
  if (known != spec.channel_at.end() && !agree(spec.channels[known->second].second, channel))
    throw refused((channel.managed() ? "Managed value '" : "Channel '") + key
                  + "' already exists with a different type");
}

bool managed_key(const graph_spec& spec, const std::string& key, const channel_spec& channel) {
  auto known = spec.channel_at.find(key);
  return channel.managed()
         || (known != spec.channel_at.end() && spec.channels[known->second].second.managed());
}

void refuse_managed(const graph_spec& spec, const schema& keys, std::string_view which) {
  std::string managed;
  for (const auto& [key, channel] : keys.channels)
    if (managed_key(spec, key, channel))
      managed += (managed.empty() ? "" : ", ") + key;
  if (!managed.empty())
    throw refused("Invalid managed channels detected in " + std::string{which} + ": " + managed
                  + ". Managed channels are not permitted in Input/Output schema.");
}

// ---- nodes and edges ------------------------------------------------------------------------

void check_node_name(const graph_spec& spec, const std::string& name) {
  if (spec.has_node(name))
    throw refused("Node " + in_quotes(name) + " already present.");
  if (name == names::start || name == names::end)
    throw refused("Node " + in_quotes(name) + " is reserved.");
  for (char c : {'|', ':'})
    if (name.find(c) != std::string::npos)
      throw refused("add node " + in_quotes(name) + ": '" + std::string{c}
                    + "' is a reserved character and is not allowed in the node names.");
  if (names::reserved(name))
    throw refused("Node name '" + name + "' is reserved");
  if (name.empty())
    throw refused("add a node: its name is empty");
  if (name.size() > limits::node_name_bytes_max)
    throw refused("add a node: its name has more than "
                  + std::to_string(limits::node_name_bytes_max)
                  + " bytes: " + in_quotes(name.substr(0, 40) + "…"));
}

void check_edge_ends(const std::string& from, const std::string& to) {
  if (from == names::end)
    throw refused("END cannot be a start node");
  if (to == names::start)
    throw refused("START cannot be an end node");
}

void require_node(const graph_spec& spec, const std::string& name) {
  if (!spec.has_node(name))
    throw refused("Need to add_node " + in_quotes(name) + " first");
}

// ---- routes ---------------------------------------------------------------------------------

std::string numbered(const std::string& name, unsigned number) {
  return number == 1 ? name : name + "_" + std::to_string(number);
}

// The next name among condition, condition_2, … that is not taken.
std::string next_route_name(route_names& of_node) {
  std::string name;
  do
    name = numbered("condition", ++of_node.unnamed);
  while (of_node.taken.contains(name));
  return name;
}

void refuse_repeated_labels(const path_map& map) {
  std::vector<std::string_view> sorted;
  sorted.reserve(map.entries().size());
  for (const auto& [label, node] : map.entries())
    sorted.push_back(label);
  std::ranges::sort(sorted);
  auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    throw refused("add conditional edges: a label occurs twice in the path map: "
                  + in_quotes(*twice));
}

} // namespace

void declare_channels(graph_spec& spec, const schema& keys) {
  refuse_repeated_keys(keys);
  for (const auto& [key, channel] : keys.channels)
    check_channel(spec, key, channel);
  for (const auto& [key, channel] : keys.channels)
    if (spec.channel_at.try_emplace(key, static_cast<std::uint32_t>(spec.channels.size())).second)
      spec.channels.emplace_back(key, channel);
}

// ---- graph_builder --------------------------------------------------------------------------

graph_builder::graph_builder(schema state) : spec_{std::make_shared<graph_spec>()} {
  declare_channels(*spec_, state);
  spec_->state = std::move(state);
}

graph_builder& graph_builder::input_schema(const schema& channels) {
  refuse_managed(*spec_, channels, "the input schema");
  declare_channels(*spec_, channels);
  spec_->input = channels;
  return *this;
}

graph_builder& graph_builder::output_schema(const schema& channels) {
  refuse_managed(*spec_, channels, "the output schema");
  declare_channels(*spec_, channels);
  spec_->output = channels;
  return *this;
}

graph_builder& graph_builder::context_schema(value json, std::function<void(const value&)> check) {
  spec_->context = {std::move(json), std::move(check)};
  return *this;
}

void graph_builder::add_node_body(std::string name, node_body body, node_options options) {
  check_node_name(*spec_, name);
  if (!body)
    throw refused("add a node: it has no body: " + in_quotes(name));
  if (options.input_schema)
    declare_channels(*spec_, *options.input_schema);
  spec_->node_at.emplace(name, static_cast<std::uint32_t>(spec_->nodes.size()));
  spec_->nodes.push_back({std::move(name), std::move(body), std::move(options)});
}

void graph_builder::add_graph(std::string name, const compiled_graph& graph, node_options options) {
  node_body body;
  body.graph = graph.plan();
  add_node_body(std::move(name), std::move(body), std::move(options));
}

void graph_builder::set_node_defaults(node_defaults defaults) {
  spec_->defaults = std::move(defaults);
}

void graph_builder::add_edge(std::string from, std::string to) {
  check_edge_ends(from, to);
  spec_->edges.push_back({std::move(from), std::move(to)});
}

void graph_builder::add_edge(std::vector<std::string> from, std::string to) {
  if (from.empty())
    throw refused("add an edge: it has no start node: to " + in_quotes(to));
  for (const auto& name : from) {
    check_edge_ends(name, to);
    require_node(*spec_, name);
  }
  if (to != names::end)
    require_node(*spec_, to);
  spec_->joins.push_back({std::move(from), std::move(to)});
}

void graph_builder::add_edge(std::initializer_list<const char*> from, std::string to) {
  add_edge(std::vector<std::string>(from.begin(), from.end()), std::move(to));
}

void graph_builder::add_join(std::vector<std::string> from, std::string to, join_options how) {
  std::vector<std::string> distinct = from;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (how.need > distinct.size())
    throw refused("add a join: it needs " + std::to_string(how.need) + " of "
                  + std::to_string(distinct.size()) + " nodes: to " + in_quotes(to));
  if (how.timeout.count() < 0)
    throw refused("add a join: its timeout is negative: to " + in_quotes(to));
  add_edge(std::move(from), std::move(to));
  spec_->joins.back().how = how;
}

void graph_builder::subscribe(const std::string& node, const std::vector<std::string>& channels) {
  require_node(*spec_, node);
  if (channels.empty())
    throw refused("subscribe node " + in_quotes(node) + ": the list of channels is empty");
  for (const auto& name : channels) {
    auto known = spec_->channel_at.find(name);
    if (known == spec_->channel_at.end())
      throw refused("subscribe node " + in_quotes(node) + ": no such channel: " + in_quotes(name));
    if (spec_->channels[known->second].second.managed())
      throw refused("subscribe node " + in_quotes(node) + ": " + in_quotes(name)
                    + " is a managed value, which no step writes");
  }
  for (const auto& name : channels)
    if (std::ranges::none_of(spec_->subscriptions,
                             [&](const auto& s) { return s.node == node && s.channel == name; }))
      spec_->subscriptions.push_back({node, name});
}

path_map::path_map(std::initializer_list<detail::path_text> nodes) : given_{true} {
  for (const auto& n : nodes)
    entries_.emplace_back(n.get(), n.get());
}

path_map::path_map(std::initializer_list<detail::path_entry> entries) : given_{true} {
  for (const auto& e : entries)
    entries_.emplace_back(e.label(), e.node());
}

path_map::path_map(std::vector<std::pair<std::string, std::string>> entries)
  : entries_{std::move(entries)},
    given_{true} {}

void path_map::add_names(const std::vector<std::string>& nodes) {
  for (const auto& n : nodes)
    entries_.emplace_back(n, n);
}

void graph_builder::add_route(std::string from, route_body route, std::optional<schema> reads,
                              path_map map, std::string name) {
  if (!route)
    throw refused("add conditional edges: the route is missing: from " + in_quotes(from));
  refuse_repeated_labels(map);
  auto known = spec_->routes_of.find(from);
  if (!name.empty() && known != spec_->routes_of.end() && known->second.taken.contains(name))
    throw refused("Branch with name " + in_quotes(name) + " already exists for node "
                  + in_quotes(from));
  if (reads)
    declare_channels(*spec_, *reads);
  auto& of_node = spec_->routes_of[from];
  if (name.empty())
    name = next_route_name(of_node);
  of_node.taken.insert(name);
  spec_->routes.push_back(
    {std::move(from), std::move(name), std::move(route), std::move(reads), std::move(map)});
}

result<compiled_graph> graph_builder::try_compile(compile_options options) const {
  auto plan = compile_graph(*spec_, std::move(options));
  if (!plan)
    return plan.error();
  return compiled_graph{*std::move(plan)};
}

// ---- compiled_graph -------------------------------------------------------------------------

const std::string& compiled_graph::name() const noexcept {
  return plan_->options.name;
}

std::vector<std::string> compiled_graph::nodes() const {
  std::vector<std::string> out;
  out.reserve(plan_->nodes.size() - 1);
  for (node_index n = 1; n < plan_->nodes.size(); ++n)
    if (!plan_->nodes[n].handles)
      out.push_back(plan_->nodes[n].name);
  return out;
}

std::vector<std::string> compiled_graph::inputs() const {
  std::vector<std::string> out;
  out.reserve(plan_->input_keys.size());
  for (auto c : plan_->input_keys)
    out.push_back(plan_->channels[c].name);
  return out;
}

const std::vector<std::string>& compiled_graph::warnings() const noexcept {
  return plan_->warnings;
}

} // namespace troupe
