// Workflows as functions: an entrypoint that starts tasks and waits for them.
//
// A task that finished is not run again when its workflow is resumed: its result is found by the
// order of the calls. So a body must start the same tasks in the same order each time, and keep
// time, random numbers and side effects inside tasks.
// Source: langgraph/func.
#pragma once

#include <troupe/state_graph.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

struct plan_node; // graph/graph_plan.hpp

/// The settings of a task besides its body.
/// Errors: see task.
/// Source: langgraph/func, task.
struct task_options {
  troupe::retry_policy retry_policy = no_retry_policy;
  timeout_policy timeout = {}; ///< of one attempt
  troupe::cache_policy cache_policy = no_cache_policy;
  /// The lane of a body that is not a coroutine. Unlike nodes, most tasks wait for something.
  troupe::lane lane = lane::blocking;
  value metadata = {};
};

/// The settings of an entrypoint besides its body.
/// Errors: see entrypoint.
/// Source: langgraph/func, entrypoint.
struct entrypoint_options {
  troupe::retry_policy retry_policy = no_retry_policy;
  timeout_policy timeout = {};
  troupe::cache_policy cache_policy = no_cache_policy;
  /// The lane of a body that is not a coroutine: blocking, so that it may wait for its tasks.
  troupe::lane lane = lane::blocking;
  troupe::checkpointer checkpointer = {};
  run_context_type context_schema = {};
  /// As those of compile_options.
  value metadata = {};
  std::uint32_t recursion_limit = limits::recursion_limit_default;
  std::shared_ptr<troupe::store> store = nullptr;
  std::shared_ptr<node_cache> cache = nullptr;
};

/// A result of an entrypoint in two parts. `value` goes to the caller. The next run on the thread
/// finds `save` as context::previous().
/// Errors: none.
/// Source: langgraph/func, entrypoint.final.
template <class T, class S> struct final_value {
  T value;
  S save;
};
template <class T, class S> final_value(T, S) -> final_value<T, S>;

namespace detail {

struct task_call; // tasks/task_scope.hpp

/// A task as the engine runs it. Its input is the list of its arguments.
std::shared_ptr<const plan_node> make_task(std::string name, node_body body, task_options options);
/// The input and the result of a workflow, as JSON Schema.
struct workflow_schemas {
  value input;
  value output;
};
result<compiled_graph> make_entrypoint(std::string name, node_body body, entrypoint_options options,
                                       workflow_schemas schemas = {});

std::shared_ptr<task_call> start_task(task_scope& scope, std::shared_ptr<const plan_node> task,
                                      value arguments);
bool task_ended(const task_call& call) noexcept;
void wait_for_task(task_scope& scope, task_call& call);
void await_task(task_scope& scope, std::shared_ptr<task_call> call, std::coroutine_handle<> body);
value take_task(task_scope& scope, task_call& call);

// The result of a body becomes one write.
inline constexpr const char* returned_key = "__return__";
inline constexpr const char* saved_key = "__previous__";

template <class T> node_output to_return(const T& x, const char* key) {
  node_output out;
  add_part(out, state_update{{key, value::of(x)}});
  return out;
}

template <class T> struct is_final : std::false_type {};
template <class T, class S> struct is_final<final_value<T, S>> : std::true_type {};

template <class T> node_output to_saved(const T& x) {
  node_output out;
  if constexpr (is_final<T>::value) {
    add_part(out, state_update{{END, value::of(x.value)}, {saved_key, value::of(x.save)}});
  } else if constexpr (std::is_same_v<T, node_output>) {
    out = x;
  } else {
    auto v = value::of(x);
    add_part(out, state_update{{END, v}, {saved_key, v}});
  }
  return out;
}

// An argument of a task as it is kept while the task runs; a context stands for itself.
template <class A>
using kept_argument =
  std::conditional_t<std::is_same_v<std::decay_t<A>, context>, context&, std::decay_t<A>>;

template <class A> kept_argument<A> task_argument(const value& list, std::size_t i, context& ctx) {
  if constexpr (std::is_same_v<std::decay_t<A>, context>)
    return ctx;
  else if constexpr (std::is_same_v<std::decay_t<A>, value>)
    return list[i];
  else
    return list[i].template as<std::decay_t<A>>();
}

template <class F, class Args> struct task_body;
template <class F, class... A> struct task_body<F, std::tuple<A...>> {
  using result_type = std::decay_t<std::invoke_result_t<F&, A...>>;
  static constexpr bool coroutine = is_coro<result_type>::value;
  using value_type = typename is_coro<result_type>::type;

  using arguments = std::tuple<kept_argument<A>...>;

  template <std::size_t... I>
  static arguments read(const value& list, context& ctx, std::index_sequence<I...>) {
    return arguments{task_argument<A>(list, I, ctx)...};
  }
  template <std::size_t... I>
  static decltype(auto) call(F& f, arguments& kept, std::index_sequence<I...>) {
    return f(static_cast<A&&>(std::get<I>(kept))...);
  }
  // The frame keeps the arguments: a body may take them by reference.
  static coro<node_output> drive(F& f, value list, context& ctx) {
    auto kept = read(list, ctx, std::index_sequence_for<A...>{});
    auto body = call(f, kept, std::index_sequence_for<A...>{});
    if constexpr (std::is_void_v<value_type>) {
      co_await body;
      auto out = to_return(value{}, returned_key);
      co_return out;
    } else {
      auto answer = co_await body;
      auto out = to_return(answer, returned_key);
      co_return out;
    }
  }
  static node_body make(F f) {
    node_body out;
    if constexpr (coroutine) {
      out.coroutine = [f = std::move(f)](const state_view& in, context& ctx) mutable {
        return drive(f, in.to_value(), ctx);
      };
    } else {
      out.plain = [f = std::move(f)](const state_view& in, context& ctx) mutable {
        auto kept = read(in.to_value(), ctx, std::index_sequence_for<A...>{});
        if constexpr (std::is_void_v<value_type>) {
          call(f, kept, std::index_sequence_for<A...>{});
          return to_return(value{}, returned_key);
        } else {
          return to_return(call(f, kept, std::index_sequence_for<A...>{}), returned_key);
        }
      };
    }
    return out;
  }
};

template <class F, class In> coro<node_output> drive_entrypoint(F& f, In in, context& ctx) {
  auto body = call_body(f, in, ctx);
  if constexpr (std::is_void_v<typename is_coro<decltype(body)>::type>) {
    co_await body;
    auto out = to_saved(value{});
    co_return out;
  } else {
    auto answer = co_await body;
    auto out = to_saved(answer);
    co_return out;
  }
}

template <class In> In whole_input(const state_view& view) {
  if constexpr (std::is_same_v<In, value>)
    return view.to_value();
  else
    return view.to_value().template as<In>();
}

// The type of a result that is shown: of a final_value, the value's.
template <class T> struct shown_type { using type = T; };
template <class T, class S> struct shown_type<final_value<T, S>> { using type = T; };
template <> struct shown_type<void> { using type = value; };
template <> struct shown_type<node_output> { using type = value; };

template <class In, class F> workflow_schemas schemas_of_workflow() {
  using R = std::decay_t<decltype(call_body(std::declval<F&>(), std::declval<In&>(),
                                            std::declval<context&>()))>;
  using returned = std::decay_t<typename is_coro<R>::type>;
  return {json_schema<In>(), json_schema<typename shown_type<returned>::type>()};
}

template <class In, class F> node_body make_entrypoint_body(F f) {
  using R = decltype(call_body(f, std::declval<const In&>(), std::declval<context&>()));
  node_body out;
  if constexpr (is_coro<std::decay_t<R>>::value) {
    out.coroutine = [f = std::move(f)](const state_view& view, context& ctx) mutable {
      return drive_entrypoint(f, whole_input<In>(view), ctx);
    };
  } else {
    out.plain = [f = std::move(f)](const state_view& view, context& ctx) mutable {
      In in = whole_input<In>(view);
      if constexpr (std::is_void_v<R>) {
        call_body(f, in, ctx);
        return to_saved(value{});
      } else {
        return to_saved(call_body(f, in, ctx));
      }
    };
  }
  return out;
}

} // namespace detail

/// The result of a task that was started. Cheap to copy; valid within the body that started it.
/// Errors: see get().
/// Source: langgraph/pregel/_call.py, SyncAsyncFuture.
template <class T> class future {
public:
  future(detail::task_scope& scope, std::shared_ptr<detail::task_call> call)
    : scope_{&scope},
      call_{std::move(call)} {}

  /// Whether the task has ended.
  bool ready() const noexcept { return detail::task_ended(*call_); }
  /// Waits, in a plain body of the blocking lane.
  /// Errors: throws the error of the task; on another lane invalid_graph. When the task asks a
  ///         question, the body ends here, and the run pauses.
  T get() const {
    detail::wait_for_task(*scope_, *call_);
    return take();
  }

  class awaiter {
  public:
    explicit awaiter(const future& f) noexcept : future_{&f} {}
    bool await_ready() const noexcept { return future_->ready(); }
    void await_suspend(std::coroutine_handle<> body) {
      detail::await_task(*future_->scope_, future_->call_, body);
    }
    T await_resume() const { return future_->take(); }

  private:
    const future* future_;
  };
  /// In a coroutine; errors as get().
  awaiter operator co_await() const noexcept { return awaiter{*this}; }

private:
  T take() const {
    auto v = detail::take_task(*scope_, *call_);
    if constexpr (std::is_same_v<T, value>)
      return v;
    else if constexpr (!std::is_void_v<T>)
      return v.template as<T>();
  }

  detail::task_scope* scope_;
  std::shared_ptr<detail::task_call> call_;
};

/// A function whose calls are tasks of their own: stored when they finish, tried again by their
/// policy, side by side.
/// Errors: a call throws what its future's get() throws, no sooner.
/// Source: langgraph/func, task.
template <class R, class... A> class task_function {
public:
  explicit task_function(std::shared_ptr<const plan_node> node) : node_{std::move(node)} {}

  /// Starts the task at once.
  template <class... B> future<R> operator()(context& ctx, B&&... arguments) const {
    return {ctx.scope(),
            detail::start_task(ctx.scope(), node_, value::list({value::of(arguments)...}))};
  }
  const std::shared_ptr<const plan_node>& node() const noexcept { return node_; }

private:
  std::shared_ptr<const plan_node> node_;
};

/// A task.
/// Shape:  the body takes values (anything that a value can hold). Its last parameter may be
///         `context&`. It returns a value, nothing, or a coro of these.
/// Errors: throws error{invalid_graph} for a bad name.
/// Source: langgraph/func, task.
template <class F> auto task(std::string name, F body, task_options options = {}) {
  using args = typename detail::callable_args<std::decay_t<F>>::args;
  using shape = detail::task_body<F, args>;
  auto node = detail::make_task(std::move(name), shape::make(std::move(body)), std::move(options));
  return task_function<typename shape::value_type>{std::move(node)};
}

/// A workflow as a graph: load it, invoke it, stream it like any other. The result of its body is
/// the result of the run, and is saved.
/// Shape:  the body takes the input (anything that a value can hold) and `context&`. It returns a
///         value, a final_value, or a coro of either. The graph's JSON Schemas are those of these
///         types.
/// Errors: throws error{invalid_graph} for a bad name.
/// Source: langgraph/func, entrypoint.
template <class F>
compiled_graph entrypoint(std::string name, F body, entrypoint_options options = {}) {
  using args = typename detail::callable_args<std::decay_t<F>>::args;
  static_assert(std::tuple_size_v<args> > 0,
                "Entrypoint function must have at least one parameter");
  using in = std::decay_t<std::tuple_element_t<0, args>>;
  return detail::make_entrypoint(std::move(name), detail::make_entrypoint_body<in>(std::move(body)),
                                 std::move(options), detail::schemas_of_workflow<in, F>())
    .value();
}

} // namespace troupe
