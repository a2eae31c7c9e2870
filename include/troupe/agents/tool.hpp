// The tool: a C++ function that a model can call; its name, description and JSON Schema come from
// one declaration.
//
//     auto weather = troupe::tool("weather", "The weather in a city",
//       [](troupe::arg<"city", std::string, "Name of the city"> city) { return lookup(*city); });
#pragma once

#include <troupe/agents/messages.hpp>
#include <troupe/agents/schema_check.hpp>
#include <troupe/context.hpp>
#include <troupe/json_schema.hpp>
#include <troupe/node_body.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

class tool;

namespace detail {

/// A text that can be a template argument.
template <std::size_t N> struct fixed_text {
  char text[N]{};
  constexpr fixed_text(const char (&given)[N]) { std::copy_n(given, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

struct tool_turn;   // agents/tools/tool_turn.hpp
struct tool_events; // agents/tools/tool_turn.hpp

} // namespace detail

/// A parameter that the model gives.
/// Shape:  T as in value_traits and json_schema; a std::optional may be missing or null.
/// Errors: none here; a misfitting argument is an error of the call (tool_errors).
/// Source: langchain_core/tools.
template <detail::fixed_text Name, class T, detail::fixed_text Description = ""> class arg {
public:
  using type = T;
  explicit arg(T v) : value_(std::move(v)) {}
  const T& operator*() const& noexcept { return value_; }
  T operator*() && noexcept { return std::move(value_); }
  const T* operator->() const noexcept { return &value_; }

private:
  T value_;
};

/// Parameters that the model neither sees nor sets. Arguments of the model under their names are
/// dropped.
///
/// A field of the state, or without a name the whole state (as a value, or a T).
/// Errors: a missing field ends the run (of class KeyError), unless T is std::optional.
/// Source: langgraph/prebuilt/tool_node.py, InjectedState.
template <detail::fixed_text Field = "", class T = value> class injected_state {
public:
  using type = T;
  explicit injected_state(T v) : value_(std::move(v)) {}
  const T& operator*() const noexcept { return value_; }
  const T* operator->() const noexcept { return &value_; }

private:
  T value_;
};

/// The runtime's store.
/// Errors: without a store the run ends (of class ValueError).
/// Source: langgraph/prebuilt/tool_node.py, InjectedStore.
class injected_store {
public:
  explicit injected_store(troupe::store& s) noexcept : store_{&s} {}
  troupe::store& operator*() const noexcept { return *store_; }
  troupe::store* operator->() const noexcept { return store_; }

private:
  troupe::store* store_;
};

/// The id of the call.
/// Source: langchain_core/tools/base.py, InjectedToolCallId.
/// Errors: none.
class injected_tool_call_id {
public:
  explicit injected_tool_call_id(std::string id) : id_{std::move(id)} {}
  const std::string& operator*() const noexcept { return id_; }

private:
  std::string id_;
};

/// A tool's view of its run; a parameter `tool_runtime&`.
/// Thread: a call uses it from one thread at a time; several calls run side by side.
/// Errors: see the members.
/// Source: langgraph/prebuilt/tool_node.py, ToolRuntime.
class tool_runtime {
public:
  tool_runtime(context& ctx, value state, value call, const std::vector<tool>& tools,
               detail::tool_turn& turn)
    : ctx_{&ctx},
      state_(std::move(state)),
      call_(std::move(call)),
      tools_{&tools},
      turn_{&turn} {}

  /// The state that the tool node was given, a map.
  const value& state() const noexcept { return state_; }
  /// A view of the same call with another state.
  tool_runtime with_state(value state) const {
    auto out = *this;
    out.state_ = std::move(state);
    return out;
  }
  /// run_config::context.
  const value& run_context() const noexcept { return info().run_context(); }
  /// run_config::configurable: a map, or null.
  const value& configurable() const noexcept { return info().configurable(); }
  /// context::config() of the task that runs the tool. Include troupe/run_config.hpp to use it.
  run_config config() const;
  /// The call: {name, args, id}. Its id may be empty.
  const value& call() const noexcept { return call_; }
  std::string tool_call_id() const;
  /// All tools of the node.
  const std::vector<tool>& tools() const noexcept { return *tools_; }
  troupe::store* store() const noexcept { return info().store(); }
  /// The task's read access to its run: thread_id(), node_attempt(), metadata(), stop_requested() …
  const context& info() const noexcept { return *ctx_; }

  /// Sends a part to readers of the `custom` stream.
  void write(const value& part) { ctx_->write(part); }
  /// Sends a piece of output to readers of the `tools` stream.
  void emit_output_delta(const value& piece);

  /// The task's context, for questions and graphs, which depend on the order of calls. When a call
  /// before this one still runs, this call is left here, and begins again from its first line when
  /// its turn comes. As with interrupt(), do nothing before it that must not be done twice.
  context& task();
  /// Asks a person: as context::interrupt().
  value interrupt(const value& question, const value& response_schema = {}) {
    return task().interrupt(question, response_schema);
  }

  /// For coroutines: suspend without holding a thread.
  detail::suspension sleep_for(std::chrono::nanoseconds delay) { return ctx_->sleep_for(delay); }
  /// As context::completion().
  template <class T = void> troupe::completion<T> completion() const {
    return ctx_->template completion<T>();
  }
  /// As context::blocking(): await it under a name.
  template <class F> blocking_job<std::invoke_result_t<F&>> blocking(F job) {
    return ctx_->blocking(std::move(job));
  }

private:
  friend struct detail::tool_events;
  context* ctx_;
  value state_;
  value call_;
  const std::vector<tool>* tools_;
  detail::tool_turn* turn_;
};

/// The output of a tool: content, a message, a command, or a list of messages and commands.
/// Shape:  a string or a list of content blocks is content as it is; any other value becomes JSON
///         text. A message must be a tool's message.
/// Errors: none.
/// Source: langgraph/prebuilt/tool_node.py.
class tool_output {
public:
  using part = std::variant<value, command>;

  tool_output() : parts_{value{}} {}
  template <class T>
  requires std::is_convertible_v<T, value> tool_output(T&& content)
    : parts_{value(std::forward<T>(content))} {}
  tool_output(command c) : parts_{std::move(c)} {}
  /// Messages and commands.
  tool_output(std::vector<part> parts) : parts_{std::move(parts)}, list_{true} {}

  /// Content for the model, and an artifact for readers of the message.
  static tool_output with_artifact(value content, value artifact) {
    tool_output out{std::move(content)};
    out.artifact_ = std::move(artifact);
    return out;
  }

  const std::vector<part>& parts() const noexcept { return parts_; }
  bool is_list() const noexcept { return list_; }
  const value& artifact() const noexcept { return artifact_; }

private:
  std::vector<part> parts_;
  value artifact_;
  bool list_ = false;
};

/// A tool in the form in which it is called; one of the two is set. `args` fit the tool's schema.
/// Errors: those of the function.
/// Source: troupe.
struct tool_body {
  std::function<tool_output(const value& args, tool_runtime& runtime)> plain;
  std::function<coro<tool_output>(value args, tool_runtime& runtime)> coroutine;
};

/// The values that a tool needs besides its arguments; parameters declare them automatically.
/// Errors: none.
/// Source: langgraph/prebuilt/tool_node.py, InjectedState and InjectedStore.
struct tool_needs {
  struct field {
    std::string name; ///< of the state
    bool optional = false;
  };
  std::vector<field> fields = {};
  bool store = false;
};

/// The settings of a tool besides its body.
/// Errors: none.
/// Source: langchain_core/tools/base.py, BaseTool.
struct tool_options {
  /// Whether the agent ends with this tool's result.
  bool return_direct = false;
  /// The agent to which the tool's command leads, out of the calling agent (troupe/teams.hpp). The
  /// tool runs after the other calls of the answer. Empty: the tool does not leave the agent.
  std::string handoff_to = {};
  /// Whether calls of one answer run one after the other, in their order. In create_agent each is a
  /// step of its own, so that a finished call is not repeated after a crash.
  bool one_at_a_time = false;
  /// The lane of a function that is not a coroutine. On the blocking lane several calls run side by
  /// side. On the standard lane, for short functions, they run in order on the same thread.
  troupe::lane lane = lane::blocking;
  /// The content of an error message for the tool's exception; nullopt: the node decides.
  std::function<std::optional<std::string>(const error&)> on_error = {};
  /// Further members of the definition for models (cache_control, defer_loading …).
  value extras = {};
  /// The JSON Schema of the function's result, as a value, except messages and commands; null: any
  /// result. A result that does not fit is a failure of class ToolOutputError.
  value output = {};
  tool_needs needs = {}; ///< of a tool made from data
  /// false: any schema is accepted, and the function gets the model's arguments unchecked.
  bool check_arguments = true;
};

namespace detail {

const value& injected_value(const tool_runtime& runtime, std::string_view field);
[[noreturn]] void refuse_argument(std::string_view name, const error& why);
template <class T> T read_argument(const value& args, std::string_view name) {
  try {
    return value_traits<T>::from(args[name]);
  } catch (const error& why) {
    refuse_argument(name, why);
  }
}

/// How a parameter of type P is declared, and how its value is read.
template <class P> struct tool_parameter {
  static_assert(!sizeof(P*), "a tool's parameter is an arg<\"name\", T>, injected_state, "
                             "injected_store, injected_tool_call_id or tool_runtime&");
};
template <fixed_text Name, class T, fixed_text Description>
struct tool_parameter<arg<Name, T, Description>> {
  static void declare(std::vector<value::map_init>& properties, std::vector<value>& required,
                      tool_needs&) {
    auto schema = json_schema<T>();
    if (!Description.view().empty())
      schema = schema.with("description", Description.view());
    properties.emplace_back(std::string{Name.view()}, std::move(schema));
    if (!is_optional<T>::value)
      required.emplace_back(Name.view());
  }
  static arg<Name, T, Description> give(const value& args, tool_runtime&) {
    return arg<Name, T, Description>{read_argument<T>(args, Name.view())};
  }
};
template <fixed_text Field, class T> struct tool_parameter<injected_state<Field, T>> {
  static void declare(std::vector<value::map_init>&, std::vector<value>&, tool_needs& needs) {
    if (!Field.view().empty())
      needs.fields.push_back({std::string{Field.view()}, is_optional<T>::value});
  }
  static injected_state<Field, T> give(const value&, tool_runtime& runtime) {
    return injected_state<Field, T>{value_traits<T>::from(injected_value(runtime, Field.view()))};
  }
};
template <> struct tool_parameter<injected_store> {
  static void declare(std::vector<value::map_init>&, std::vector<value>&, tool_needs& needs) {
    needs.store = true;
  }
  static injected_store give(const value&, tool_runtime& runtime) {
    return injected_store{*runtime.store()};
  }
};
template <> struct tool_parameter<injected_tool_call_id> {
  static void declare(std::vector<value::map_init>&, std::vector<value>&, tool_needs&) {}
  static injected_tool_call_id give(const value&, tool_runtime& runtime) {
    return injected_tool_call_id{runtime.tool_call_id()};
  }
};
template <> struct tool_parameter<tool_runtime> {
  static void declare(std::vector<value::map_init>&, std::vector<value>&, tool_needs&) {}
  static tool_runtime& give(const value&, tool_runtime& runtime) { return runtime; }
};

template <class R> tool_output to_tool_output(R&& r) {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::is_convertible_v<R, tool_output>)
    return tool_output(std::forward<R>(r));
  else
    return tool_output{value_traits<T>::to(r)};
}

template <class F, class Args> struct tool_function;
template <class F, class... P> struct tool_function<F, std::tuple<P...>> {
  using result = std::invoke_result_t<F&, P...>;

  static value declare(tool_needs& needs) {
    std::vector<value::map_init> properties;
    std::vector<value> required;
    (tool_parameter<std::remove_cvref_t<P>>::declare(properties, required, needs), ...);
    return value::map({{"type", "object"},
                       {"properties", value::map(std::move(properties))},
                       {"required", value::list(std::move(required))}});
  }

  // A parameter by reference belongs to the run; the others live in the coroutine's frame.
  template <class Q>
  using kept = decltype(tool_parameter<std::remove_cvref_t<Q>>::give(
    std::declval<const value&>(), std::declval<tool_runtime&>()));

  static std::tuple<kept<P>...> gather(const value& args, tool_runtime& runtime) {
    return {tool_parameter<std::remove_cvref_t<P>>::give(args, runtime)...};
  }

  static tool_output call(F& f, const value& args, tool_runtime& runtime) {
    auto given = gather(args, runtime);
    if constexpr (std::is_void_v<result>) {
      std::apply(f, std::move(given));
      return {};
    } else {
      return to_tool_output(std::apply(f, std::move(given)));
    }
  }

  static coro<tool_output> drive(F& f, value args, tool_runtime& runtime) {
    auto given = gather(args, runtime);
    auto body = std::apply([&f](auto&... p) { return f(static_cast<P&&>(p)...); }, given);
    if constexpr (std::is_void_v<typename is_coro<result>::type>) {
      co_await body;
      co_return tool_output{};
    } else {
      auto answer = co_await body;
      auto out = to_tool_output(std::move(answer));
      co_return out;
    }
  }

  static tool_body make(F f) {
    tool_body out;
    if constexpr (is_coro<result>::value)
      out.coroutine = [f = std::move(f)](value args, tool_runtime& runtime) mutable {
        return drive(f, std::move(args), runtime);
      };
    else
      out.plain = [f = std::move(f)](const value& args, tool_runtime& runtime) mutable {
        return call(f, args, runtime);
      };
    return out;
  }
};

} // namespace detail

/// A tool. Immutable, cheap to copy.
/// Thread: its function may be called by several threads at once.
/// Errors: see the members.
/// Source: langchain_core/tools; langgraph/prebuilt/tool_node.py.
class tool {
public:
  /// From a function. The parameters are args, injected values and `tool_runtime&`, in any order.
  /// The function returns any type with value_traits, nothing, a tool_output, a command, or a coro
  /// of those.
  /// Errors: throws error{invalid_graph} for an empty name, or one that OpenAI's and Anthropic's
  ///         models refuse: letters, digits, `_` and `-`, 64 at most.
  template <class F>
  requires detail::plain_callable<F> tool(std::string name, std::string description, F function,
                                          tool_options options = {}) {
    using made = detail::tool_function<F, typename detail::callable_args<F>::args>;
    auto parameters = made::declare(options.needs);
    init(std::move(name), std::move(description), std::move(parameters),
         made::make(std::move(function)), std::move(options));
  }
  /// From data.
  /// Shape:  `parameters` is the JSON Schema of an object.
  /// Errors: as above; invalid_graph for a schema with unknown keywords (schema_check.hpp) when
  ///         arguments or results are checked against it.
  tool(std::string name, std::string description, value parameters, tool_body body,
       tool_options options = {});
  /// A provider's tool: it is bound as it is, and never run here.
  explicit tool(value definition);

  const std::string& name() const noexcept;
  const std::string& description() const noexcept;
  /// The JSON Schema of the model's arguments.
  const value& parameters() const noexcept;
  /// The definition for models: {name, description, parameters}, or a provider's tool as given.
  value definition() const;
  /// False for a provider's tool.
  bool runs_here() const noexcept;
  const tool_options& options() const noexcept;
  const tool_body& body() const noexcept;

  /// The arguments for the function: the declared ones, whole numbers as integers.
  /// Errors: node_failed of class ToolInvocationError; its text has a line `name: why` for each
  ///         argument that does not fit.
  result<value> check(const value& args) const;

private:
  struct spec;
  void init(std::string name, std::string description, value parameters, tool_body body,
            tool_options options);
  std::shared_ptr<const spec> spec_;
};

} // namespace troupe
