// A compiled graph: everything by index, checked, immutable. The coordinator runs it.
#pragma once

#include "graph/channel_kinds.hpp"
#include "graph/index_list.hpp"
#include "graph/task_id.hpp"

#include <troupe/state_graph.hpp>

#include <cstdint>
#include <forward_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

using channel_index = std::uint32_t;
using node_index = std::uint32_t;
inline constexpr std::uint32_t no_index = 0xffff'ffff;

struct plan_channel {
  std::string name;
  const channel_spec& spec; // of the plan, or of all plans
  bool state = false; // a key of some schema; else made by the compiler (branch:to:…, join:…, …)
  bool control = false; // not a state key: only the engine writes it, the coordinator keeps it
  index_list triggers;  // the nodes it triggers
};

/// A write that every run of a node makes: an edge, or the node's part of a join.
struct plan_write {
  channel_index channel;
  value val;
};

struct plan_route {
  std::string name;
  route_body body;
  std::optional<index_list> reads; // nullopt: the same as its node
  path_map map;
};

class node_guard; // graph/node_guard.hpp

/// The settings of a node that most nodes leave as they are; see node_options.
struct node_settings {
  retry_policy retry = no_retry_policy;
  timeout_policy timeout = {};
  cache_policy cache = no_cache_policy;
  value metadata = {};
  troupe::placement placement = {};
  std::vector<std::string> destinations = {};
  std::vector<compiled_graph> calls = {}; // graphs that its body declares to call

  std::shared_ptr<node_guard> guard = {}; // null without a breaker and a rate limit

  /// These settings to keep. All nodes that change nothing share one object.
  std::shared_ptr<const node_settings> shared() &&;
};

/// A node's body: a node_body in the room of one of its members.
class plan_body {
public:
  using plain_body = decltype(node_body::plain);
  using coroutine_body = decltype(node_body::coroutine);

  plan_body() = default; // of START
  plan_body(node_body of);

  /// Null when the body is another kind.
  const plain_body* plain() const noexcept { return std::get_if<plain_body>(&body_); }
  const coroutine_body* coroutine() const noexcept { return std::get_if<coroutine_body>(&body_); }
  const std::shared_ptr<const graph_plan>& graph() const noexcept;

private:
  std::variant<std::monostate, plain_body, coroutine_body, std::shared_ptr<const graph_plan>> body_;
};

/// A node, or a task of a workflow. A task is not among the nodes: a call starts it, it reads its
/// arguments and writes to no channel.
struct plan_node {
  std::string name;
  plan_body body;
  troupe::lane lane = lane::standard;
  bool defer = false;
  bool handles = false;          // the node is the handler of another one
  bool graph_state = false;      // tasks started by a send carry the state as well
  node_index handler = no_index; // runs when the node failed for good
  std::shared_ptr<const node_settings> settings = node_settings{}.shared(); // never null
  channel_index branch = no_index; // branch:to:NAME, or __start__ for START
  index_list triggers;             // sorted by channel name
  index_list reads;                // input keys in schema order, managed ones included
  std::vector<plan_write> writes;  // edges, then joins, in the order they were added
  std::vector<plan_route> routes;
};

/// The requirements on a run's context.
struct context_spec {
  value json;                              // JSON Schema; null: anything
  std::function<void(const value&)> check; // throws error; null: anything
};

/// The nodes of a graph, by index. Node 0 is START; the others follow in the order they were added.
/// The error handler of a node stands right before it, the default one last.
class graph_plan {
public:
  compile_options options;
  std::vector<plan_channel> channels; // declaration order
  std::vector<plan_node> nodes;
  index_list input_keys;          // START may write these
  index_list output_keys;         // what a result shows
  index_list stream_keys;         // all state channels that are not managed
  index_list reacting;            // channels with reacts_to_silence()
  index_list finishing;           // *_after_finish channels
  index_list patient;             // joins with a time-out
  channel_index start = no_index; // __start__
  channel_index tasks = no_index; // __pregel_tasks
  bool single = false;            // the whole state, or what is shown, is one channel
  bool per_thread = false;        // a node is a graph with checkpointing::per_thread
  bool functional = false;        // an entrypoint: node 1 reads __start__, without a START
  context_spec context;
  const void* exporter = nullptr; // an address in the library that exports the plan; null: none
                                  // does
  std::vector<std::string> warnings;

  /// no_index when nothing has this name. Cost: a binary search.
  channel_index find_channel(std::string_view name) const noexcept;
  node_index find_node(std::string_view name) const noexcept;
  /// The same, for many names in their order: `next` counts the names up to the one found last,
  /// and is 0 at first. Cost: one comparison, if the next name is the one.
  channel_index find_channel(std::string_view name, std::size_t& next) const noexcept;
  node_index find_node(std::string_view name, std::size_t& next) const noexcept;
  /// Whether a goto or send may name it: only nodes other than START.
  bool leads_to(std::string_view name) const noexcept {
    auto n = find_node(name);
    return n != no_index && n != 0;
  }

  const plan_channel& channel(channel_index i) const { return channels[i]; }
  const plan_node& node(node_index i) const { return nodes[i]; }

  const index_list& channels_by_name() const noexcept { return channels_by_name_; }
  const index_list& nodes_by_name() const noexcept { return nodes_by_name_; }

  /// Keeps the declaration of a channel for as long as the plan.
  const channel_spec& own(channel_spec spec) { return specs_.emplace_front(std::move(spec)); }

  /// Builds the name look-ups; called once by the compiler.
  void index();

private:
  std::forward_list<channel_spec> specs_;
  index_list channels_by_name_;
  index_list nodes_by_name_;
};

/// The id of the task of a node that its channels trigger.
/// Errors: as task_id().
/// Source: langgraph/pregel/_algo.py, prepare_single_task (PULL).
std::string pulled_task_id(const plan_context& at, const graph_plan& plan, const plan_node& node);

/// The error of a route, goto or send to a node that the graph does not have.
/// Shape:  `who`: the origin of the decision, "node `a`" or the call that brought a command from
///         outside.
/// Source: troupe.
error unknown_target(const graph_plan& plan, std::string_view who, std::string_view target);

/// Checks a builder's collection and freezes it.
/// Errors: invalid_graph with the reference's text.
/// Source: langgraph/graph/state.py, StateGraph.compile and validate.
result<std::shared_ptr<const graph_plan>> compile_graph(const graph_spec& spec,
                                                        compile_options options);

} // namespace troupe
