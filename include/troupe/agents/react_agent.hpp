// The prebuilt agent: asks a model and runs the tools it calls, in turns, until it answers.
#pragma once

#include <troupe/agents/chat_model.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/limits.hpp>
#include <troupe/state_graph.hpp>

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// The model of an agent: a fixed one, or a function of the state that chooses one for each call. A
/// chosen model has its tools already bound (bind_tools).
/// Errors: an exception of the function fails the task.
/// Source: langgraph/prebuilt/chat_agent_executor.py, create_react_agent(model).
class agent_model {
public:
  using chooser = std::function<coro<chat_model_ptr>(const state_view& state, context& ctx)>;

  agent_model() = default;
  template <std::derived_from<chat_model> M>
  agent_model(std::shared_ptr<M> model) : model_{std::move(model)} {}
  /// Takes a function of the state and the context that gives a model, or a coro of one.
  template <class F>
  requires std::is_invocable_v<F&, const state_view&, context&> agent_model(F choose);

  const chat_model_ptr& fixed() const noexcept { return model_; }
  const chooser& chosen() const noexcept { return choose_; }

private:
  chat_model_ptr model_;
  chooser choose_;
};

/// The prompt before the conversation: a text, a system message, or a function of the state. The
/// function gives the whole list of messages for the model. The prompt is not stored.
/// Errors: an exception of the function fails the task.
/// Source: langgraph/prebuilt/chat_agent_executor.py, create_react_agent(prompt).
class agent_prompt {
public:
  using function = std::function<value(const state_view& state, context& ctx)>;

  agent_prompt() = default;
  agent_prompt(const char* text) : message_(system_message(text)) {}
  agent_prompt(const std::string& text) : message_(system_message(text)) {}
  agent_prompt(value message) : message_(std::move(message)) {}
  template <class F>
  requires std::is_invocable_r_v<value, F&, const state_view&, context&> agent_prompt(F f)
    : function_{std::move(f)} {}

  /// The messages for the model, given the state that it sees.
  value messages(const state_view& state, context& ctx) const;

private:
  value message_;
  function function_;
};

/// A structured answer after the last one: data that fits a JSON Schema, requested in a separate
/// call.
/// Errors: see create_react_agent.
/// Source: langgraph/prebuilt/chat_agent_executor.py, create_react_agent(response_format).
struct agent_response {
  value schema = {};       ///< null: no structured answer
  std::string prompt = {}; ///< a system message before that call; empty: no message

  agent_response() = default;
  agent_response(value of_schema, std::string with_prompt = {})
    : schema(std::move(of_schema)),
      prompt{std::move(with_prompt)} {}
};

/// The parts of a prebuilt agent.
/// Shape:  `tools`: provider tools are bound to the model, and not run here. `version` "v2" runs
///         each tool call as a task of its own, so that a question pauses one call alone. "v1" runs
///         all calls of an answer in one task. `state`: channels besides, or in place of,
///         `messages`, `remaining_steps` and, with a response format, `structured_response`. Hooks
///         are bodies of nodes. The hook before the model may write `llm_input_messages`, which
///         replaces the messages for the model.
/// Errors: see create_react_agent.
/// Source: langgraph/prebuilt/chat_agent_executor.py, create_react_agent.
struct react_agent_options {
  agent_model model;
  std::vector<tool> tools = {};
  agent_prompt prompt = {};
  /// The name of the graph and of the agent's messages; empty: "agent", and unnamed messages.
  std::string name = {};
  std::string version = "v2";
  any_body pre_model_hook = {};
  any_body post_model_hook = {};
  agent_response response_format = {};
  schema state = {};
  tool_node_options tool_node = {};
  /// Time-out of each call ("v1": of all calls of an answer). They are then answered with an error,
  /// and the agent continues. A function that does not return holds its thread until it does. 0: no
  /// bound.
  std::chrono::milliseconds tool_timeout{0};
  /// Answers in a row without any readable call. The model gets the reason and is asked again after
  /// each of them except the last. With 0 the first such answer ends the run, as in the reference.
  std::size_t malformed_answers_max = limits::malformed_answers_default;
  run_context_type context_schema = {};
  std::vector<std::string> interrupt_before = {};
  std::vector<std::string> interrupt_after = {};
  troupe::checkpointer checkpointer = {};
};

/// The agent as a graph over `messages`.
/// Shape:  `messages` and `remaining_steps` are added to a `state` that lacks them.
/// Order:  START, [pre_model_hook], agent, [post_model_hook], tools and again; at the end
///         [generate_structured_response]. The agent ends after a tool with `return_direct`. With
///         too few steps left for another call, its last message asks for more steps and the run
///         ends.
/// Errors: throws error{invalid_graph}, of class ValueError, for an unknown version, or a model
///         whose bound tools differ. A run fails with
///         - the errors of model and tools
///         - ValueError when a call in the history has no answer
///         - MalformedToolCallError after malformed_answers_max answers in a row without any
///           readable call
///         An unreadable call in the history is answered with an error before the model sees it.
/// Source: langgraph/prebuilt/chat_agent_executor.py, create_react_agent.
compiled_graph create_react_agent(react_agent_options options);

// ---------------------------------------------------------------------------------------------

namespace detail {

template <class F>
coro<chat_model_ptr> choose_model(F& choose, const state_view& state, context& ctx) {
  using R = std::invoke_result_t<F&, const state_view&, context&>;
  if constexpr (is_coro<R>::value) {
    auto choice = choose(state, ctx);
    chat_model_ptr model = co_await choice;
    co_return model;
  } else {
    co_return chat_model_ptr{choose(state, ctx)};
  }
}

} // namespace detail

template <class F>
requires std::is_invocable_v<F&, const state_view&, context&> agent_model::agent_model(F choose) {
  choose_ = [choose = std::move(choose)](const state_view& state, context& ctx) mutable {
    return detail::choose_model(choose, state, ctx);
  };
}

} // namespace troupe
