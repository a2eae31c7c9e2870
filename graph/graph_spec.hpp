// The collection of a builder: channels, nodes, edges and routes by name. Mistakes that only the
// whole graph shows are not checked yet.
#pragma once

#include "graph/graph_plan.hpp"

#include <troupe/state_graph.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

struct node_spec {
  std::string name;
  node_body body;
  node_options options;
};

struct edge_spec {
  std::string from;
  std::string to;
};

struct join_spec {
  std::vector<std::string> from; // in the order given, which decides the channel's name
  std::string to;
  join_options how = {};

  bool waits_for_all() const noexcept { return how.need == 0 && how.timeout.count() == 0; }
};

struct route_spec {
  std::string from;
  std::string name;
  route_body body;
  std::optional<schema> reads; // nullopt: the input schema of its node
  path_map map;
};

struct subscription_spec {
  std::string node;
  std::string channel;
};

/// The names of the routes out of one node.
struct route_names {
  std::set<std::string, std::less<>> taken;
  unsigned unnamed = 0; // how many of them got a number
};

struct name_hash : std::hash<std::string_view> {
  using is_transparent = void;
};
/// Places by name.
using name_index = std::unordered_map<std::string, std::uint32_t, name_hash, std::equal_to<>>;

struct graph_spec {
  schema state;
  std::optional<schema> input;
  std::optional<schema> output;
  std::vector<std::pair<std::string, channel_spec>> channels; // of all schemas, as first declared
  std::vector<node_spec> nodes;
  std::vector<edge_spec> edges; // as added; an edge may stand twice
  std::vector<join_spec> joins; // likewise
  std::vector<route_spec> routes;
  std::vector<subscription_spec> subscriptions; // each once
  node_defaults defaults;
  context_spec context;

  name_index channel_at;
  name_index node_at;
  std::unordered_map<std::string, route_names> routes_of;

  const schema& input_schema() const { return input ? *input : state; }
  const schema& output_schema() const { return output ? *output : state; }
  bool has_node(std::string_view name) const { return node_at.contains(name); }
};

/// Declares the channels of `keys` that are not known yet. Nothing is declared on an error.
/// Errors: throws error{invalid_graph} for a reserved name, a key twice in `keys`, or a key that is
///         declared as another kind. A last_value key keeps the kind that is already declared.
/// Source: langgraph/graph/state.py, StateGraph._add_schema.
void declare_channels(graph_spec& spec, const schema& keys);

/// The first mistake of the graph as a whole, or nullopt.
/// Source: langgraph/graph/state.py, StateGraph.validate.
std::optional<error> find_mistake(const graph_spec& spec, const compile_options& options);

} // namespace troupe
