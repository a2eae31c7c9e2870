// The graph builder: nodes, edges and conditional edges over a schema of channels.
#pragma once

#include <troupe/compiled_graph.hpp>
#include <troupe/limits.hpp>
#include <troupe/node_body.hpp>
#include <troupe/part_transform.hpp>
#include <troupe/placement.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

class node_cache;
class saver;
class store;
struct graph_spec; // graph/graph_spec.hpp

/// The settings of a node besides its body.
/// Source: langgraph/graph/state.py, add_node.
struct node_options {
  troupe::lane lane = lane::standard;
  bool defer = false; ///< runs only when nothing else is left to run
  troupe::retry_policy retry_policy = no_retry_policy;
  timeout_policy timeout = {}; ///< of one attempt
  circuit_breaker_policy circuit_breaker = {};
  rate_limit_policy rate_limit = {};
  /// Has an effect when the runtime has a cache.
  troupe::cache_policy cache_policy = no_cache_policy;
  any_body error_handler = {}; ///< runs when the last attempt failed, in the node's place and lane
  /// Keys of the graph's channels, or private channels with a kind of their own. nullopt: the node
  /// reads the whole state.
  std::optional<schema> input_schema = std::nullopt;
  value metadata = {};
  /// Whether a task that was sent an argument can read context::graph_state()
  bool graph_state = false;
  /// The workers on which its tasks run. Without workers, tasks run here; an error handler always
  /// runs here. Input and writes cross as msgpack. A task elsewhere can't start tasks of a
  /// workflow.
  troupe::placement placement = {};
  std::vector<std::string> destinations = {}; ///< where its commands may go, for drawings only
  /// Graphs that its body calls (context::invoke): their state can then be read, and drawings show
  /// them.
  std::vector<compiled_graph> calls = {};
};

/// Settings of every node that does not set its own. Subgraphs do not inherit them. `cache_policy`
/// and `error_handler` do not apply to error handlers.
/// Source: langgraph/graph/state.py, set_node_defaults.
struct node_defaults {
  troupe::retry_policy retry_policy = no_retry_policy;
  timeout_policy timeout = {};
  troupe::cache_policy cache_policy = no_cache_policy;
  any_body error_handler = {};
};

/// How a graph keeps its threads.
/// Source: langgraph/types.py, Checkpointer.
enum class checkpointing : std::uint8_t {
  inherit,    ///< the runtime's saver; as a subgraph, the state lasts for one task of the parent
  per_thread, ///< as a subgraph only: the state lasts as long as the thread
  none,       ///< nothing is stored
};

/// How a graph keeps its threads: one of the rules above, or a saver of its own. Such a saver
/// replaces the runtime's; within another graph it has no effect, and the rule is `inherit`.
/// Shape:  a null saver counts as none given.
/// Owns:   a share of the saver.
/// Errors: none.
/// Source: langgraph/types.py, Checkpointer; langgraph/graph/state.py, compile(checkpointer).
class checkpointer {
public:
  checkpointer(checkpointing how = checkpointing::inherit) noexcept : mode_{how} {}
  template <class Saver>
  requires std::is_convertible_v<std::shared_ptr<Saver>, std::shared_ptr<troupe::saver>>
  checkpointer(std::shared_ptr<Saver> own)
  noexcept : saver_{std::move(own)} {}

  checkpointing mode() const noexcept { return mode_; }
  /// Null without a saver of its own.
  const std::shared_ptr<troupe::saver>& saver() const noexcept { return saver_; }

private:
  checkpointing mode_ = checkpointing::inherit;
  std::shared_ptr<troupe::saver> saver_;
};

/// The type of run_config::context that a graph wants: any, or a C.
///     .context_schema = troupe::run_context_type::of<user>()
/// Errors: none here; a run fails with invalid_config that names the member.
/// Source: langgraph/func, entrypoint(context_schema); langgraph/prebuilt/chat_agent_executor.py.
struct run_context_type {
  value json = {};
  std::function<void(const value&)> check = {};

  template <class C> static run_context_type of() {
    return {json_schema<C>(), [](const value& context) { detail::check_is_a<C>(context); }};
  }
};

/// The settings of a graph besides its nodes.
/// Source: langgraph/graph/state.py, compile.
struct compile_options {
  std::string name = "graph";
  /// Change it when the code of the nodes changes its behaviour: processes that share the graph
  /// must have the same version.
  std::string version = {};
  /// Stop before or after these nodes; {"*"} means all.
  std::vector<std::string> interrupt_before = {};
  std::vector<std::string> interrupt_after = {};
  troupe::checkpointer checkpointer = {};
  /// In place of the runtime's, for its nodes and for the runs within it that name none themselves.
  /// The runtime does not prune them.
  std::shared_ptr<troupe::store> store = nullptr;
  std::shared_ptr<node_cache> cache = nullptr;
  /// A map. In the metadata of its tasks, the run's metadata overrides it, and it overrides what a
  /// subgraph inherits; it is not stored.
  value metadata = {};
  /// Super-steps of a run whose run_config sets no recursion_limit; at least 1. A nested run has
  /// the limit of the run around it.
  std::uint32_t recursion_limit = limits::recursion_limit_default;
  /// true: a route, goto or send to a node that the graph does not have is invalid_update. The
  /// error is that of the task that decided it, or of the call that brought the command. false: the
  /// target is dropped silently, as in the reference.
  bool strict_targets = true;
  /// true: when a task has failed for good, tasks of its step that run_config::max_concurrency held
  /// back still run. false: these tasks do not begin; they run when the thread is resumed.
  bool finish_steps = false;
  /// true: a node that nothing leads to is invalid_graph. false: compiled_graph::warnings() names
  /// it. Edges, routes with a path map, subscriptions and node_options::destinations lead to nodes.
  /// A graph that has a route without a path map, or an error handler, is not checked: both may
  /// lead anywhere.
  bool strict_reachability = false;
  /// Functions over the parts of every stream of the graph, before those of the stream itself. The
  /// parts of a run within another one pass the transforms of the outer graph only.
  std::vector<part_transform> transforms = {};
};

/// How many of its predecessors a join waits for, and for how long.
/// Errors: none; see graph_builder::add_join.
/// Source: troupe.
struct join_options {
  std::size_t need = 0; ///< 0: all; 1: any
  /// Measured from the first arrival; after a restart, from the resumption. When it is over, the
  /// join runs with what has arrived: when the next step ends, or at once when nothing else is left
  /// to run. 0: no time-out.
  std::chrono::nanoseconds timeout{0};
  friend bool operator==(const join_options&, const join_options&) = default;
};

namespace detail {

/// A name in braces. Unlike std::string it can't be constructed from two pointers or by an implicit
/// conversion, so `{"a", "b"}` is never read as one name.
class path_text {
public:
  path_text(const char* text) : text_{text} {}
  template <std::same_as<std::string> Text> path_text(Text text) : text_{std::move(text)} {}
  std::string take() const { return text_; }

private:
  std::string text_;
};

/// `{label, node}`.
class path_entry {
public:
  path_entry(path_text label, path_text node) : label_{std::move(label)}, node_{std::move(node)} {}
  std::pair<std::string, std::string> take() const { return {label_.take(), node_.take()}; }

private:
  path_text label_, node_;
};

} // namespace detail

/// The labels that a route may return, with their nodes; a bare name stands for itself.
/// Shape:  `{"a", "b"}` is a list of nodes; `{{"yes", "a"}}` and `{{"yes", "a"}, {"no", "b"}}` map
///         labels to nodes, however many entries there are.
/// Errors: none; add_conditional_edges refuses a duplicate label.
/// Source: langgraph/graph/state.py, add_conditional_edges(path_map).
class path_map {
public:
  path_map() = default;
  path_map(std::initializer_list<detail::path_text> nodes) : given_{true} {
    for (const auto& n : nodes)
      entries_.emplace_back(n.take(), n.take());
  }
  path_map(std::initializer_list<detail::path_entry> entries) : given_{true} {
    for (const auto& e : entries)
      entries_.push_back(e.take());
  }
  template <std::same_as<std::vector<std::string>> Names> path_map(Names nodes) : given_{true} {
    for (auto& n : nodes)
      entries_.emplace_back(n, n);
  }
  path_map(std::vector<std::pair<std::string, std::string>> entries)
    : entries_{std::move(entries)},
      given_{true} {}

  bool given() const noexcept { return given_; }
  const std::vector<std::pair<std::string, std::string>>& entries() const noexcept {
    return entries_;
  }

private:
  std::vector<std::pair<std::string, std::string>> entries_;
  bool given_ = false;
};

/// The untyped part of state_graph. The add_ members throw error{invalid_graph} with the
/// reference's text; compile() finds the errors that only the whole graph shows.
/// Source: langgraph/graph/state.py, StateGraph.
class graph_builder {
public:
  explicit graph_builder(schema state);

  /// The channels that a run's input may write, and those that a result shows; the default is the
  /// state. Keys that are not channels yet become channels.
  graph_builder& input_schema(const schema& channels);
  graph_builder& output_schema(const schema& channels);

  /// Declares the type of run_config::context. A run whose context is not a C is refused before
  /// anything runs or is stored.
  /// Shape:  for a C with TROUPE_STATE: a map with every member except those of type std::optional
  ///         or `value`, and no other member. Members with a default are required too, as in
  ///         context_jsonschema(). A missing context is refused, unless no member is required.
  /// Errors: none; such a run fails with invalid_config that names the member.
  /// Source: langgraph/graph/state.py, StateGraph(context_schema).
  template <class C> graph_builder& context_schema() {
    return context_schema(json_schema<C>(),
                          [](const value& context) { detail::check_is_a<C>(context); });
  }
  graph_builder& context_schema(value json, std::function<void(const value&)> check);

  void add_node_body(std::string name, node_body body, node_options options);
  /// An edge between two nodes; `from` may be START, `to` may be END.
  void add_edge(std::string from, std::string to);
  /// `to` runs when all of `from` have run.
  void add_edge(std::vector<std::string> from, std::string to);
  void add_edge(std::initializer_list<const char*> from, std::string to) {
    add_edge(std::vector<std::string>(from.begin(), from.end()), std::move(to));
  }
  /// `to` runs when as many of `from` have run as `how` requires. Later arrivals of the same round
  /// are absorbed; a node that arrives a second time opens the next round.
  /// Errors: invalid_graph, as add_edge, and for a `need` greater than the number of nodes.
  /// Source: troupe.
  void add_join(std::vector<std::string> from, std::string to, join_options how);
  void add_route(std::string from, route_body route, std::optional<schema> reads, path_map map,
                 std::string name);
  /// A compiled graph as a node. Its input is the keys that it shares with this graph's state; its
  /// output is the node's update. The options lane, input_schema and calls have no effect.
  void add_graph(std::string name, const compiled_graph& graph, node_options options);
  /// Sets the defaults of every node, also of those added before. A second call replaces the first.
  void set_node_defaults(node_defaults defaults);
  /// `node` runs after every step in which one of these channels got a value, also by the node's
  /// own write. Edges to the node count besides. A graph of subscriptions needs no edge from START.
  /// Shape:  channels of any schema known so far, except managed ones.
  /// Errors: invalid_graph for an unknown node or channel, an empty list, or a managed channel.
  /// Source: langgraph/pregel/main.py, NodeBuilder.subscribe_only (with read_from as the node's
  ///         input schema, and write_to as the update it returns).
  void subscribe(const std::string& node, const std::vector<std::string>& channels);
  void set_entry_point(std::string node) { add_edge(START, std::move(node)); }
  void set_finish_point(std::string node) { add_edge(std::move(node), END); }

  /// Errors: invalid_graph.
  result<compiled_graph> try_compile(compile_options options = {}) const;

protected:
  std::shared_ptr<graph_spec> spec_;
};

namespace detail {
template <class S> schema declared_schema() { // no second error where S is not a typed state
  if constexpr (typed_state<S>)
    return schema_of<S>();
  else
    return {};
}
} // namespace detail

/// A graph over the state S (TROUPE_STATE), or over a schema made at run time (`state_graph<>`).
/// Use: add nodes and edges, then compile. One thread at a time.
/// Source: langgraph/graph/state.py, StateGraph.
template <class S = void> class state_graph : public graph_builder {
  static_assert(std::is_void_v<S> || typed_state<S>,
                "the state of a graph is a struct with a TROUPE_STATE declaration: "
                "TROUPE_STATE(type, members…) inside it, after the members");
  using default_input = std::conditional_t<std::is_void_v<S>, state_view, S>;

public:
  state_graph() requires(!std::is_void_v<S>) : graph_builder{detail::declared_schema<S>()} {}
  explicit state_graph(schema state) requires std::is_void_v<S> : graph_builder{std::move(state)} {}

  /// Adds a node. Its body takes, in this order and as far as it needs them, the state and
  /// `context&`. The state is a `const S&`, another typed state (its members are then the node's
  /// input schema), `const state_view&` or `const value&`.
  /// The body returns nothing, an update, a command, or a list of those. An update is `set(…)`, a
  /// state_update, a map value, or null for none. Also possible are an std::optional or
  /// std::variant of these, or a coro of any of them.
  /// A body that returns an S writes every member, also unchanged ones: a list under a reducer
  /// doubles. Return set(…) of the changed members instead.
  /// Errors: invalid_graph for a name that is taken, empty, reserved, or contains `|` or `:`.
  template <class F>
  requires(!std::is_base_of_v<compiled_graph, F> && !std::is_same_v<node_body, F>) void add_node(
    std::string name, F body, node_options options = {}) {
    using In = typename detail::reads_of<F, default_input>::type;
    if constexpr (typed_state<In> && !std::is_same_v<In, S>)
      if (!options.input_schema)
        options.input_schema = schema_of<In>();
    if constexpr (requires { typename F::reads_graph_state; })
      options.graph_state = true;
    add_node_body(std::move(name), detail::make_body<In>(std::move(body)), std::move(options));
  }

  /// A body the engine can call as it is, e.g. an actor_body.
  void add_node(std::string name, node_body body, node_options options = {}) {
    add_node_body(std::move(name), std::move(body), std::move(options));
  }

  /// A graph as a node.
  void add_node(std::string name, const compiled_graph& graph, node_options options = {}) {
    add_graph(std::move(name), graph, std::move(options));
  }

  /// Adds each as a node, and the edges from each to the next.
  /// Shape:  std::pair{name, body} or std::tuple{name, body, node_options}. A body may be a graph.
  /// Errors: as add_node and add_edge.
  /// Source: langgraph/graph/state.py, add_sequence.
  template <class... Node> void add_sequence(Node... nodes) {
    static_assert(sizeof...(Node) > 0, "Sequence requires at least one node.");
    std::string before;
    (
      [&] {
        std::string name = std::get<0>(nodes);
        if constexpr (std::tuple_size_v<Node> == 3)
          add_node(name, std::move(std::get<1>(nodes)), std::move(std::get<2>(nodes)));
        else
          add_node(name, std::move(std::get<1>(nodes)));
        if (!before.empty())
          add_edge(before, name);
        before = std::move(name);
      }(),
      ...);
  }

  /// After `from`, `route` decides which nodes run. `route` reads the state as `from` leaves it and
  /// returns a node or label, a send, or a list of these; END ends this path.
  /// Shape:  `map` translates labels, and lists the possible targets for drawings and the compiler.
  /// Errors: invalid_graph; at run time missing_key for a label that is not in the map, and
  ///         invalid_update for a node that is not in the graph (compile_options::strict_targets).
  template <class F>
  void add_conditional_edges(std::string from, F route, path_map map = {}, std::string name = {}) {
    using In = typename detail::reads_of<F, default_input>::type;
    std::optional<schema> reads;
    if constexpr (typed_state<In> && !std::is_same_v<In, S>)
      reads = schema_of<In>();
    add_route(std::move(from), detail::make_route<In>(std::move(route)), std::move(reads),
              std::move(map), std::move(name));
  }

  /// A run begins with the nodes that `route` names: add_conditional_edges from START.
  /// Errors: those of add_conditional_edges.
  /// Source: langgraph/graph/state.py, set_conditional_entry_point.
  template <class F>
  void set_conditional_entry_point(F route, path_map map = {}, std::string name = {}) {
    add_conditional_edges(START, std::move(route), std::move(map), std::move(name));
  }

  /// Checks the graph and freezes it; the builder can then change and compile again.
  /// Errors: throws error{invalid_graph} that names the faulty node, edge or channel.
  auto compile(compile_options options = {}) const {
    auto graph = try_compile(std::move(options)).value();
    if constexpr (std::is_void_v<S>)
      return graph;
    else
      return typed_graph<S>{graph.plan()};
  }
};

} // namespace troupe
