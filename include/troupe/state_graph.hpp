// Building a graph: nodes, edges and conditional edges over a schema of channels.
#pragma once

#include <troupe/context.hpp>
#include <troupe/state.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// Where a node body runs. A body that returns a coro runs on the coroutine lane, whatever is said.
enum class lane : std::uint8_t {
  standard, ///< on the thread that drives the run, or a scheduler thread: short bodies only
  blocking, ///< on the blocking pool: files, databases, any library that waits
};

/// What a node says besides its body.
/// Source: langgraph/graph/state.py, add_node.
struct node_options {
  troupe::lane lane = lane::standard;
  bool defer = false; ///< runs only when nothing else is left to run
  /// Input schema: keys of the graph's channels, or further, private channels with a kind of
  /// their own. nullopt: the graph's input to this node is the whole state.
  std::optional<schema> input = std::nullopt;
  value metadata = {};
  std::vector<std::string> destinations = {}; ///< where its commands may go, for drawings only
};

/// What is compiled into a graph besides its nodes.
/// Source: langgraph/graph/state.py, compile.
struct compile_options {
  std::string name = "graph";
  /// Stop before or behind these nodes; {"*"} means all.
  std::vector<std::string> interrupt_before = {};
  std::vector<std::string> interrupt_after = {};
  /// false: runs of this graph use no saver even when the runtime has one.
  bool checkpointer = true;
};

/// Labels a route may give and the nodes they stand for; a bare name stands for itself.
class path_map {
public:
  path_map() = default;
  path_map(std::initializer_list<const char*> nodes) {
    for (auto* n : nodes)
      entries_.emplace_back(n, n);
    given_ = true;
  }
  path_map(std::vector<std::string> nodes) {
    for (auto& n : nodes)
      entries_.emplace_back(n, n);
    given_ = true;
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

/// What a body gave back, in order.
struct node_output {
  using part = std::variant<state_update, command, send>;
  std::vector<part> parts;
};

/// A body as the engine calls it; one of the two is set.
struct node_body {
  std::function<node_output(const state_view&, context&)> plain;
  std::function<coro<node_output>(const state_view&, context&)> coroutine;
};

using route_body = std::function<std::vector<destination>(const state_view&, context&)>;

struct graph_spec; // graph/graph_spec.hpp
class graph_plan;  // graph/graph_plan.hpp

/// A graph that can be run: immutable, cheap to copy, safe to share between threads.
class compiled_graph {
public:
  explicit compiled_graph(std::shared_ptr<const graph_plan> plan) : plan_{std::move(plan)} {}

  const std::string& name() const noexcept;
  /// The nodes in the order they were added, without START and END.
  std::vector<std::string> nodes() const;
  /// The channels an input may write, in schema order. Like the reference, a run drops other keys
  /// of its input.
  std::vector<std::string> inputs() const;
  /// As a Mermaid flowchart; conditional edges dotted.
  /// Source: langchain_core/runnables/graph_mermaid.py (the look, not the text).
  std::string draw_mermaid() const;

  /// Edges as they are drawn.
  struct edge {
    std::string from, to, label;
    bool conditional = false;
    friend auto operator<=>(const edge&, const edge&) = default;
  };
  /// Order: by from, to, label.
  std::vector<edge> edges() const;
  /// Advice about the graph that is no error, e.g. a node with both commands and static edges.
  const std::vector<std::string>& warnings() const noexcept;

  const std::shared_ptr<const graph_plan>& plan() const noexcept { return plan_; }

private:
  std::shared_ptr<const graph_plan> plan_;
};

/// A compiled graph whose output is an S.
template <class S> class typed_graph : public compiled_graph {
public:
  using compiled_graph::compiled_graph;
};

/// The part of state_graph that knows no types. Errors of the add_ members are thrown as
/// error{invalid_graph} with the reference's text; what only the whole graph shows is found by
/// compile().
/// Source: langgraph/graph/state.py, StateGraph; spec/engine.md sections 4 and 14.
class graph_builder {
public:
  explicit graph_builder(schema state);

  /// The channels a run's input may write, and the ones a result shows; the default is the state.
  /// Keys that are no channels yet become channels.
  graph_builder& input_schema(const schema& channels);
  graph_builder& output_schema(const schema& channels);

  void add_node_body(std::string name, node_body body, node_options options);
  /// From `from` to `to`; from START, or to END.
  void add_edge(std::string from, std::string to);
  /// `to` runs when all of `from` have run.
  void add_edge(std::vector<std::string> from, std::string to);
  void add_edge(std::initializer_list<const char*> from, std::string to) {
    add_edge(std::vector<std::string>(from.begin(), from.end()), std::move(to));
  }
  void add_route(std::string from, route_body route, std::optional<schema> reads, path_map map,
                 std::string name);
  void set_entry_point(std::string node) { add_edge(START, std::move(node)); }
  void set_finish_point(std::string node) { add_edge(std::move(node), END); }

  /// Errors: invalid_graph.
  result<compiled_graph> try_compile(compile_options options = {}) const;

protected:
  std::shared_ptr<graph_spec> spec_;
};

namespace detail {

// The first parameter of a callable that has exactly one operator().
template <class F> struct callable_args {};
template <class F>
requires requires {
  &F::operator();
}
struct callable_args<F> : callable_args<decltype(&F::operator())> {};
template <class R, class... A> struct callable_args<R (*)(A...)> { using args = std::tuple<A...>; };
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...)> : callable_args<R (*)(A...)> {};
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...) const> : callable_args<R (*)(A...)> {};
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...) noexcept> : callable_args<R (*)(A...)> {};
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...) const noexcept> : callable_args<R (*)(A...)> {};

template <class F>
concept plain_callable = requires {
  typename callable_args<std::decay_t<F>>::args;
};

/// What a body or route reads: decided by its first parameter; nothing (void) when it takes none.
template <class F, class S, bool = plain_callable<F>> struct reads_of {
  using type = S; // a generic lambda
};
template <class F, class S> struct reads_of<F, S, true> {
  template <class Args> struct first { using type = void; };
  template <class A, class... Rest> struct first<std::tuple<A, Rest...>> {
    using type =
      std::conditional_t<std::is_same_v<std::decay_t<A>, context>, void, std::decay_t<A>>;
  };
  using type = typename first<typename callable_args<std::decay_t<F>>::args>::type;
};

template <class In> In read_input(const state_view& view) {
  if constexpr (std::is_same_v<In, state_view>)
    return view;
  else if constexpr (std::is_same_v<In, value>)
    return view.to_value();
  else if constexpr (typed_state<In>)
    return read_state<In>(view);
  else
    return value_traits<In>::from(view.to_value());
}

// Calls a body with what it takes: (state, context), (state), (context) or ().
template <class F, class In> decltype(auto) call_body(F& f, const In& in, context& ctx) {
  if constexpr (std::is_invocable_v<F&, const In&, context&>)
    return f(in, ctx);
  else
    return f(in);
}
template <class F> decltype(auto) call_body(F& f, context& ctx) {
  if constexpr (std::is_invocable_v<F&, context&>)
    return f(ctx);
  else
    return f();
}

inline void add_part(node_output& out, state_update u) {
  if (!u.empty())
    out.parts.emplace_back(std::move(u));
}
inline void add_part(node_output& out, const value& v) {
  if (!v.is_null())
    out.parts.emplace_back(state_update{v});
}
inline void add_part(node_output& out, command c) {
  out.parts.emplace_back(std::move(c));
}
inline void add_part(node_output& out, send s) {
  out.parts.emplace_back(std::move(s));
}
inline void add_part(node_output& out, node_output more) {
  for (auto& p : more.parts)
    out.parts.push_back(std::move(p));
}
inline void add_part(node_output&, std::monostate) {}
template <class T> // these three may hold one another
void add_part(node_output& out, std::optional<T> x);
template <class... Ts> void add_part(node_output& out, std::variant<Ts...> x);
template <class T> void add_part(node_output& out, std::vector<T> xs);
template <typed_state S> void add_part(node_output& out, const S& s) {
  out.parts.emplace_back(state_update{value::of(s)});
}
template <class T> void add_part(node_output& out, std::optional<T> x) {
  if (x)
    add_part(out, std::move(*x));
}
template <class... Ts> void add_part(node_output& out, std::variant<Ts...> x) {
  std::visit([&out](auto&& y) { add_part(out, std::forward<decltype(y)>(y)); }, std::move(x));
}
template <class T> void add_part(node_output& out, std::vector<T> xs) {
  for (auto& x : xs)
    add_part(out, std::move(x));
}
template <class R> node_output to_output(R&& r) {
  node_output out;
  if constexpr (std::is_base_of_v<state_update, std::decay_t<R>>)
    add_part(out, static_cast<state_update>(std::forward<R>(r)));
  else
    add_part(out, std::forward<R>(r));
  return out;
}

template <class T> struct is_coro : std::false_type { using type = T; };
template <class T> struct is_coro<coro<T>> : std::true_type { using type = T; };

template <class In, class F>
decltype(auto) invoke_body(F& f, [[maybe_unused]] const state_view& view, context& ctx) {
  if constexpr (std::is_void_v<In>)
    return call_body(f, ctx);
  else {
    In in = read_input<In>(view);
    return call_body(f, in, ctx);
  }
}

// The frame keeps `in` (and through the node, `f`) alive while the body is suspended.
template <class F, class In> coro<node_output> drive_body(F& f, In in, context& ctx) {
  auto body = call_body(f, in, ctx);
  if constexpr (std::is_void_v<typename is_coro<decltype(body)>::type>) {
    co_await body;
    co_return node_output{};
  } else {
    auto answer = co_await body;
    auto out = to_output(std::move(answer));
    co_return out;
  }
}
template <class F> coro<node_output> drive_body(F& f, context& ctx) {
  auto body = call_body(f, ctx);
  if constexpr (std::is_void_v<typename is_coro<decltype(body)>::type>) {
    co_await body;
    co_return node_output{};
  } else {
    auto answer = co_await body;
    auto out = to_output(std::move(answer));
    co_return out;
  }
}

template <class In, class F> auto body_result(F& f) {
  if constexpr (std::is_void_v<In>) {
    using R = decltype(call_body(f, std::declval<context&>()));
    return std::type_identity<R>{};
  } else {
    using R = decltype(call_body(f, std::declval<const In&>(), std::declval<context&>()));
    return std::type_identity<R>{};
  }
}

template <class In, class F> node_body make_body(F f) {
  using R = typename decltype(body_result<In>(f))::type;
  node_body out;
  if constexpr (is_coro<std::decay_t<R>>::value) {
    out.coroutine = [f = std::move(f)]([[maybe_unused]] const state_view& view,
                                       context& ctx) mutable {
      if constexpr (std::is_void_v<In>)
        return drive_body(f, ctx);
      else
        return drive_body(f, read_input<In>(view), ctx);
    };
  } else {
    out.plain = [f = std::move(f)](const state_view& view, context& ctx) mutable -> node_output {
      if constexpr (std::is_void_v<R>) {
        invoke_body<In>(f, view, ctx);
        return {};
      } else {
        return to_output(invoke_body<In>(f, view, ctx));
      }
    };
  }
  return out;
}

inline std::vector<destination> to_destinations(const char* s) {
  return {destination{std::string{s}}};
}
inline std::vector<destination> to_destinations(std::string s) {
  return {destination{std::move(s)}};
}
inline std::vector<destination> to_destinations(send s) {
  return {destination{std::move(s)}};
}
inline std::vector<destination> to_destinations(destination d) {
  return {std::move(d)};
}
template <class B>
requires std::is_same_v<B, bool> std::vector<destination> to_destinations(B b) {
  return {destination{std::string{b ? "true" : "false"}}};
}
inline std::vector<destination> to_destinations(const destinations& d) {
  return d.list();
}
template <class T> std::vector<destination> to_destinations(std::vector<T> xs) {
  std::vector<destination> out;
  out.reserve(xs.size());
  for (auto& x : xs)
    out.emplace_back(std::move(x));
  return out;
}

template <class In, class F> route_body make_route(F f) {
  return [f = std::move(f)](const state_view& view, context& ctx) mutable {
    return to_destinations(invoke_body<In>(f, view, ctx));
  };
}

} // namespace detail

/// A graph over the state S (TROUPE_STATE), or over a schema made at run time (`state_graph<>`).
/// Use: add nodes and edges, then compile. One thread at a time.
/// Source: langgraph/graph/state.py, StateGraph.
template <class S = void> class state_graph : public graph_builder {
  using default_input = std::conditional_t<std::is_void_v<S>, state_view, S>;

public:
  state_graph() requires(!std::is_void_v<S>) : graph_builder{schema_of<S>()} {}
  explicit state_graph(schema state) requires std::is_void_v<S> : graph_builder{std::move(state)} {}

  /// A node. Its body takes, in this order, what it needs of: the state (`const S&`, another
  /// typed state, whose members then are the node's input schema, `const state_view&`, or
  /// `const value&`) and `context&`. It returns nothing, an update (`set(…)`, state_update, a map
  /// value, null for none), a command, a list of those, an std::optional or std::variant of them,
  /// or a coro of any of these.
  /// Errors: invalid_graph: a name that is taken, empty, reserved, or contains `|` or `:`.
  template <class F> void add_node(std::string name, F body, node_options options = {}) {
    using In = typename detail::reads_of<F, default_input>::type;
    if constexpr (typed_state<In> && !std::is_same_v<In, S>)
      if (!options.input)
        options.input = schema_of<In>();
    add_node_body(std::move(name), detail::make_body<In>(std::move(body)), std::move(options));
  }

  /// Behind `from`, goes where `route` says: it reads the state as its node leaves it and returns
  /// a node or label, a send, or a list of these; END ends this path.
  /// Shape:  `map` translates labels (and tells drawings and the compiler where it may go).
  /// Errors: invalid_graph; at run time missing_key for a label that is not in the map.
  template <class F>
  void add_conditional_edges(std::string from, F route, path_map map = {}, std::string name = {}) {
    using In = typename detail::reads_of<F, default_input>::type;
    std::optional<schema> reads;
    if constexpr (typed_state<In> && !std::is_same_v<In, S>)
      reads = schema_of<In>();
    add_route(std::move(from), detail::make_route<In>(std::move(route)), std::move(reads),
              std::move(map), std::move(name));
  }

  /// Checks the graph and freezes it; the builder can go on and compile again.
  /// Errors: throws error{invalid_graph} that names the culprit.
  auto compile(compile_options options = {}) const {
    auto graph = try_compile(std::move(options)).value();
    if constexpr (std::is_void_v<S>)
      return graph;
    else
      return typed_graph<S>{graph.plan()};
  }
};

} // namespace troupe
