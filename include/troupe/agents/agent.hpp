// The agent with middleware: hooks and wrappers around its model, its tools and the whole run.
#pragma once

#include <troupe/agents/react_agent.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A call of the model before it is made. A class, so that it can stand in a co_await expression.
/// Shape:  `request.messages` is the conversation without the system message; `system_message` is a
///         message value or null.
/// Errors: none.
/// Source: langchain/agents/middleware/types.py, ModelRequest.
class model_call {
public:
  model_call(chat_model_ptr m, model_request r, value system, value of_state, context& ctx)
    : model{std::move(m)},
      request{std::move(r)},
      system_message(std::move(system)),
      state(std::move(of_state)),
      ctx_{&ctx} {}

  chat_model_ptr model;
  model_request request;
  value system_message;
  value state; ///< a map
  /// Wrappers of the model that is finally asked, whichever it is; the first is the innermost.
  std::vector<std::function<chat_model_ptr(chat_model_ptr)>> around = {};
  context& ctx() const noexcept { return *ctx_; }

private:
  context* ctx_;
};

/// The result of a call of the model: its answer, and writes that go along with the answer.
/// Shape:  `structured_response`: the data of the answer; null without data. A wrapper may set it
///         even if the agent has no response_format. `tool_messages` answer the calls of tools that
///         stand for a schema: with the data, or with the reason why it does not fit.
/// Errors: a model_executor throws the model's error, and that of response_format for an answer
///         that does not fit. A wrapper may catch either and ask again.
/// Source: langchain/agents/middleware/types.py, ModelResponse, ExtendedModelResponse.
class model_response {
public:
  model_response(value of_answer = {}, state_update with = {})
    : answer(std::move(of_answer)),
      update{std::move(with)} {}

  value answer; ///< an assistant's message
  state_update update;
  value structured_response = {};
  std::vector<value> tool_messages = {};
};

/// Makes a call of the model; a wrapper may use it any number of times.
/// Errors: co_await throws the failure of the call.
/// Source: langchain/agents/middleware/types.py, AgentMiddleware.wrap_model_call.
using model_executor = std::function<coro<model_response>(model_call)>;
/// Wraps each call of the model.
/// Shape:  a coroutine.
/// Errors: an exception fails the call.
/// Source: langchain/agents/middleware/types.py, AgentMiddleware.wrap_model_call.
using model_wrapper = std::function<coro<model_response>(model_call, model_executor)>;

/// A body before or after the agent or the model. The hook is a node of its own that reads the
/// state and returns an update.
/// Shape:  an update may have the member `jump_to`; `jumps` lists its permitted values.
///         - "model": the round begins again
///         - "tools": all open calls of the last answer run
///         - "end": the hooks after the agent run
/// Errors: a run fails with ValueError for a jump that is not in `jumps`.
/// Source: langchain/agents/middleware/types.py, AgentMiddleware.before_model.
struct agent_hook {
  any_body body = {};
  std::vector<std::string> jumps = {};

  agent_hook() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, agent_hook>)
    agent_hook(F f, std::vector<std::string> may_jump = {})
    : body{std::move(f)},
      jumps{std::move(may_jump)} {}
  explicit operator bool() const noexcept { return static_cast<bool>(body); }
};

/// A set of extensions of an agent. Everything but the name may be absent.
/// Order:  hooks before run in the order of the list, hooks after in reverse. The first of several
///         wrappers is the outermost. before_agent and after_agent run once a run.
/// Errors: see create_agent.
/// Source: langchain/agents/middleware/types.py, AgentMiddleware.
struct middleware {
  std::string name;
  schema state = {};  ///< channels besides the agent's
  schema hidden = {}; ///< further channels, in neither input nor output
  std::vector<tool> tools = {};
  agent_hook before_agent = {};
  agent_hook before_model = {};
  agent_hook after_model = {};
  agent_hook after_agent = {};
  model_wrapper wrap_model_call = {};
  tool_wrapper wrap_tool_call = {};
};

/// How a model is made to answer with data.
/// Errors: none.
/// Source: langchain/agents/structured_output.py, AutoStrategy.
enum class structured_strategy : std::uint8_t {
  automatic, ///< provider, unless the model's profile has `structured_output` as false
  provider,  ///< the schema is part of the request, and the answer's text is the data
  tool,      ///< the schema is a tool, and the model must call some tool
};

/// The format of an agent's last answer as data, which is stored as `structured_response`.
/// Shape:  `schema` is a JSON Schema named by its `title`; null: text. As a tool, each member of a
///         `oneOf` is one tool. `tool_message` is the content of the message that answers the
///         fitting call; empty: the data. `handle_errors`: what the model gets in answer to a call
///         that does not fit. The failure is of class StructuredOutputValidationError, or
///         MultipleStructuredOutputsError for several calls; both derive from
///         StructuredOutputError.
///         - true: the reason
///         - a text: that text
///         - classes: the reason, for failures of those; any other failure ends the run
///         - a function: its text; without a text the run ends
///         - false: nothing; the failure ends the run
///         `strict`: whether a provider must enforce the schema (strategy `provider`); unset: if
///         the schema allows it.
/// Units:  `attempts_max`: answers with calls that do not fit, since the last user message. The
///         last of them fails the run.
/// Errors: see create_agent.
/// Source: langchain/agents/structured_output.py.
struct response_format {
  value schema = {};
  structured_strategy strategy = structured_strategy::automatic;
  std::string tool_message = {};
  std::size_t attempts_max = 3;
  tool_errors handle_errors = true;
  std::optional<bool> strict = std::nullopt;

  response_format() = default;
  response_format(value of, structured_strategy how = structured_strategy::automatic)
    : schema(std::move(of)),
      strategy{how} {}
};

/// The parts of an agent with middleware.
/// Shape:  `system_prompt` precedes the conversation in every call and is not stored.
/// Errors: see create_agent.
/// Source: langchain/agents/factory.py, create_agent.
struct agent_options {
  chat_model_ptr model;
  std::vector<tool> tools = {};
  std::string system_prompt = {};
  std::vector<troupe::middleware> middleware = {};
  troupe::response_format response_format = {};
  schema state = {};
  tool_node_options tool_node = {};
  /// Time-out of each call. The call is then answered with an error, and the agent continues. A
  /// function that does not return holds its thread until it does
  /// (tool_runtime::info().stop_requested()). 0: no bound.
  std::chrono::milliseconds tool_timeout{0};
  /// Answers in a row without any readable call. The model gets the reason and is asked again after
  /// each of them except the last. With 0 the first such answer ends the run, as in the reference.
  std::size_t malformed_answers_max = limits::malformed_answers_default;
  run_context_type context_schema = {};
  std::string name = {}; ///< of the graph, its messages, and in metadata: `lc_agent_name`
  std::vector<std::string> interrupt_before = {};
  std::vector<std::string> interrupt_after = {};
  troupe::checkpointer checkpointer = {};
  /// Super-steps of a run that sets no limit: as compile_options::recursion_limit.
  std::uint32_t recursion_limit = limits::recursion_limit_default;
};

/// The agent as a graph over `messages`: nodes `model`, `tools`, and `NAME.before_model` … of the
/// middleware.
/// Order:  each tool call is a task of its own, whose tool reads the state when it runs. The agent
///         ends when an answer calls no tool, or when all tools that ran for an answer have
///         return_direct. After a reviewer's edit, the tool that ran counts.
/// Errors: throws error{invalid_graph}: of class AssertionError for two middleware of one name, of
///         class ValueError for a missing model or an unknown jump. The same code,
///         without a class, reports two tools or schemas of one name.
///         A run fails with
///         - the errors of models, tools and hooks
///         - ValueError for a tool that only the request has and that no wrapper ran
///         - StructuredOutputValidationError for a last answer without the requested data,
///           MultipleStructuredOutputsError for one with several
///         - MalformedToolCallError after malformed_answers_max answers in a row without any
///           readable call
///         A call in the history that is unanswered or unreadable is answered with an error before
///         the model sees it.
/// Source: langchain/agents/factory.py, create_agent.
compiled_graph create_agent(agent_options options);

} // namespace troupe
