// The tool node: runs the tool calls of a model's answer; and the route that leads to it.
#pragma once

#include <troupe/agents/tool.hpp>

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The treatment of a tool's exception: a message to the model, or the end of the run.
/// Shape:  by default only misfitting arguments become messages. Other values:
///         - true: all errors; false: none
///         - a text: all errors, with that text
///         - classes (by reference_name()): those and their derived classes
///         - a function: the errors for which it returns a text
/// Order:  a tool's own on_error comes first. Questions, drains, and a missing state field or store
///         are never handled; an unknown tool always is.
/// Errors: none.
/// Source: langgraph/prebuilt/tool_node.py, ToolNode(handle_tool_errors).
class tool_errors {
public:
  using handler = std::function<std::optional<std::string>(const error&)>;

  tool_errors() = default;
  template <class B>
  requires std::is_same_v<B, bool> tool_errors(B all) : rule_{all ? rule::all : rule::none} {}
  tool_errors(const char* text) : tool_errors{std::string{text}} {}
  tool_errors(std::string text) : rule_{rule::all}, text_{std::move(text)} {}
  tool_errors(std::vector<std::string> classes)
    : rule_{rule::classes},
      classes_{std::move(classes)} {}
  tool_errors(std::initializer_list<const char*> classes)
    : tool_errors{std::vector<std::string>(classes.begin(), classes.end())} {}
  tool_errors(handler f) : rule_{rule::function}, function_{std::move(f)} {}

  /// The content of the message for this failure of a call; nullopt: the failure is raised.
  std::optional<std::string> content(const error& failure, const value& call) const;
  /// As content() of a failure that is not a tool's: `otherwise` is the text where the rule has
  /// none of its own.
  /// Errors: those of the function.
  std::optional<std::string> content_or(const error& failure, std::string otherwise) const;

private:
  enum class rule : std::uint8_t { standard, all, none, classes, function };
  rule rule_ = rule::standard;
  std::optional<std::string> text_;
  std::vector<std::string> classes_;
  handler function_;
};

/// One call before its tool runs. A class, so that it can stand in a co_await expression.
/// Errors: none.
/// Source: langgraph/prebuilt/tool_node.py, ToolCallRequest.
class tool_call_request {
public:
  tool_call_request(value call, std::optional<troupe::tool> tool, tool_runtime& runtime)
    : call_(std::move(call)),
      tool_{std::move(tool)},
      runtime_{&runtime} {}

  const value& call() const noexcept { return call_; }
  /// nullopt for a name that the node does not know.
  const std::optional<troupe::tool>& tool() const noexcept { return tool_; }
  const value& state() const noexcept { return runtime().state(); }
  tool_runtime& runtime() const noexcept { return own_ ? *own_ : *runtime_; }

  tool_call_request with_call(value call) const {
    auto out = *this;
    out.call_ = std::move(call);
    return out;
  }
  tool_call_request with_tool(troupe::tool t) const {
    auto out = *this;
    out.tool_ = std::move(t);
    return out;
  }
  /// With another state for the tool and its injected arguments.
  /// Shape:  a map.
  tool_call_request with_state(value state) const {
    auto out = *this;
    out.own_ = std::make_shared<tool_runtime>(runtime().with_state(std::move(state)));
    return out;
  }

private:
  value call_;
  std::optional<troupe::tool> tool_;
  tool_runtime* runtime_;
  std::shared_ptr<tool_runtime> own_; // of with_state
};

/// Runs a request; a wrapper may call it any number of times.
/// Errors: co_await throws the failure of the tool.
/// Source: langgraph/prebuilt/tool_node.py, ToolNode(wrap_tool_call).
using tool_executor = std::function<coro<tool_output>(tool_call_request)>;
/// Wraps each call.
/// Shape:  a coroutine that gives a tool's message or a command.
/// Errors: an exception is treated as the tool's.
/// Source: langgraph/prebuilt/tool_node.py, ToolNode(wrap_tool_call).
using tool_wrapper = std::function<coro<tool_output>(tool_call_request, tool_executor)>;

/// The settings of a tool node.
/// Shape:  `messages_key`: the channel of the messages. `wrap_tool_call` unset: tools run as they
///         are.
/// Errors: none.
/// Source: langgraph/prebuilt/tool_node.py, ToolNode.
struct tool_node_options {
  tool_errors handle_tool_errors = {};
  std::string messages_key = "messages";
  tool_wrapper wrap_tool_call = {};
};

/// A node's body that runs the tool calls of the last assistant message, and gives their messages
/// in the order of the calls.
/// Shape:  its input is the state (a map), a list of messages, a list of tool calls, or one call
///         with its own state (tool_call_with_context). Answered calls are left out.
/// Order:  tools of the blocking lane and coroutines run side by side. A tool that asks a person or
///         runs a graph waits there for the calls before it. Tools of the standard lane run in
///         order.
/// Errors: the task fails with ValueError without an assistant message, and with invalid_value for
///         more than limits::tool_calls_max calls. When all calls have ended, it fails with the
///         first unhandled error in their order.
/// Source: langgraph/prebuilt/tool_node.py, ToolNode.
class tool_node {
public:
  using reads_graph_state = void;

  /// Errors: throws error{invalid_graph} for two tools of one name.
  explicit tool_node(std::vector<tool> tools, tool_node_options options = {});

  coro<node_output> operator()(const state_view& input, context& ctx) const;
  const std::vector<tool>& tools() const noexcept;

private:
  struct parts;
  std::shared_ptr<const parts> parts_;
};

/// A node's body that checks the tool calls of the last message, and runs nothing.
/// Shape:  each call is answered by a tool's message. The message has as content the arguments as
///         JSON, or for a misfit the reason (`format_error`, or a default text) with
///         additional_kwargs.is_error. The status is "success" in both cases, as in the reference.
///         Input: the state, or a list of messages.
/// Errors: throws error{invalid_graph} for two tools of one name. The task fails with ValueError
///         when the last message is not an assistant's, and with KeyError for an unknown tool.
/// Source: langgraph/prebuilt/tool_validator.py, ValidationNode.
struct validation_options {
  std::string messages_key = "messages";
  std::function<std::string(const error&, const value& call)> format_error = {};
};
/// The node's body with these settings.
/// Errors: see validation_options.
/// Source: langgraph/prebuilt/tool_validator.py, ValidationNode.
class validation_node {
public:
  explicit validation_node(std::vector<tool> tools, validation_options options = {});

  node_output operator()(const state_view& input) const;

private:
  std::vector<tool> tools_;
  validation_options options_;
};

/// The argument for a send of one call to a tool node, with the state for its tool.
/// Shape:  a map.
/// Errors: none.
/// Source: langgraph/prebuilt/tool_node.py, ToolCallWithContext.
value tool_call_with_context(const value& call, const value& state);

/// A route: to "tools" when the last message has tool calls, else to END.
///     g.add_conditional_edges("agent", troupe::tools_condition{}, {"tools", troupe::END});
/// Errors: fails with ValueError without a message.
/// Source: langgraph/prebuilt/tool_node.py, tools_condition.
struct tools_condition {
  std::string messages_key = "messages";
  std::string operator()(const state_view& state) const;
};

} // namespace troupe
