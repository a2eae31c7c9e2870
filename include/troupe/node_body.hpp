// The node body: which callables can be one, and the form in which the engine calls it.
#pragma once

#include <troupe/callable.hpp>
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

class graph_plan; // graph/graph_plan.hpp

/// Where a node body runs. A body that returns a coro always runs on the coroutine lane.
enum class lane : std::uint8_t {
  standard, ///< on the thread that drives the run, or a scheduler thread: short bodies only
  blocking, ///< on the blocking pool: files, databases, any library that waits
};

/// The output of a body, in order.
/// Errors: none.
/// Source: troupe.
struct node_output {
  using part = std::variant<state_update, command, send>;
  std::vector<part> parts;

  node_output() noexcept;
  node_output(const node_output&);
  node_output(node_output&&) noexcept;
  node_output& operator=(const node_output&);
  node_output& operator=(node_output&&) noexcept;
  ~node_output();
};

/// A body as the engine calls it; one of the three is set.
/// Errors: those of the body.
/// Source: troupe.
struct node_body {
  std::function<node_output(const state_view&, context&)> plain;
  std::function<coro<node_output>(const state_view&, context&)> coroutine;
  std::shared_ptr<const graph_plan> graph;
  explicit operator bool() const noexcept { return plain || coroutine || graph; }
};

/// A route as the engine calls it.
/// Errors: those of the route.
/// Source: langgraph/graph/_branch.py, BranchSpec.
using route_body = std::function<destinations(const state_view&, context&)>;

namespace detail {

/// The type that a body or route reads: that of its first parameter; void when it reads nothing.
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

// Calls a body with the arguments it takes: (state, context), (state), (context) or ().
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

void add_part(node_output& out, state_update u);
void add_part(node_output& out, const value& v);
void add_part(node_output& out, command c);
void add_part(node_output& out, send s);
void add_part(node_output& out, node_output more);
inline void add_part(node_output&, std::monostate) {}
template <class T> // these three may hold one another
void add_part(node_output& out, std::optional<T> x);
template <class... Ts> void add_part(node_output& out, std::variant<Ts...> x);
template <class T> void add_part(node_output& out, std::vector<T> xs);
template <typed_state S> void add_part(node_output& out, const S& s) {
  add_part(out, state_update{value::of(s)});
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
  else if constexpr (std::is_same_v<In, state_view>)
    return call_body(f, view, ctx);
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

destinations to_destinations(const char* s);
destinations to_destinations(std::string s);
destinations to_destinations(send s);
destinations to_destinations(destination d);
template <class B>
requires std::is_same_v<B, bool> destinations to_destinations(B b) {
  return to_destinations(b ? "true" : "false");
}
destinations to_destinations(const destinations& d);
template <class T> destinations to_destinations(std::vector<T> xs) {
  destinations out;
  for (auto& x : xs)
    out.add(std::move(x));
  return out;
}

template <class In, class F> route_body make_route(F f) {
  return [f = std::move(f)](const state_view& view, context& ctx) mutable {
    return to_destinations(invoke_body<In>(f, view, ctx));
  };
}

} // namespace detail

/// Any callable that can be a node's body, where no graph determines the type it reads. The first
/// parameter does (a typed state, `const state_view&` or `const value&`).
/// Errors: none.
/// Source: troupe.
class any_body {
public:
  any_body() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, any_body>) any_body(F body);
  const node_body& get() const noexcept { return body_; }
  const std::optional<schema>& reads() const noexcept { return reads_; }
  explicit operator bool() const noexcept { return static_cast<bool>(body_); }

private:
  node_body body_;
  std::optional<schema> reads_;
};

template <class F>
requires(!std::is_same_v<std::decay_t<F>, any_body>) any_body::any_body(F body) {
  using In = typename detail::reads_of<F, state_view>::type;
  if constexpr (typed_state<In>)
    reads_ = schema_of<In>();
  body_ = detail::make_body<In>(std::move(body));
}

} // namespace troupe
