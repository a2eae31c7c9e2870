// Agents with middleware: what stands around the model, its tools, and the whole.
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

/// A call of the model on its way. A class, so that it can stand in a co_await expression.
/// Shape:  `request.messages` is the conversation without the system message, which is a message
///         value or null.
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
  /// What is put around whatever model is asked in the end, the first innermost.
  std::vector<std::function<chat_model_ptr(chat_model_ptr)>> around = {};
  context& ctx() const noexcept { return *ctx_; }

private:
  context* ctx_;
};

/// What a call of the model gave: its answer, and writes that go along with it.
/// Shape:  `structured_response`: the data of the answer, null: none. A wrapper may give it also
///         where the agent has no response_format. `tool_messages` answer the calls for tools that
///         stand for a schema: with data, or with why it does not fit.
/// Errors: of a model_executor: what the model throws, and what response_format says of an answer
///         that does not fit. A wrapper may catch that and ask again.
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

/// Makes a call of the model; what a wrapper is given, to use as often as it likes.
using model_executor = std::function<coro<model_response>(model_call)>;
/// Stands around each call of the model. Shape: a coroutine.
using model_wrapper = std::function<coro<model_response>(model_call, model_executor)>;

/// A body before or behind the agent or the model: a node of its own, that reads the state and
/// returns an update.
/// Shape:  an update may have the member `jump_to`: "model" (the round begins again), "tools" (all
///         open calls of the last answer) or "end" (what stands behind the agent); `jumps` names
///         those it may take.
/// Errors: of a run: ValueError for a jump that is not among them.
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

/// Something that stands around an agent. Everything but the name may be absent.
/// Order:  of several: those before in the order of the list, those behind in reverse, and of those
///         around a call the first is the outermost. before_agent and after_agent run once a run.
/// Source: langchain/agents/middleware/types.py, AgentMiddleware.
struct middleware {
  std::string name;
  schema state = {};  ///< channels beside the agent's
  schema hidden = {}; ///< likewise, and neither input nor output
  std::vector<tool> tools = {};
  agent_hook before_agent = {};
  agent_hook before_model = {};
  agent_hook after_model = {};
  agent_hook after_agent = {};
  model_wrapper wrap_model_call = {};
  tool_wrapper wrap_tool_call = {};
};

/// How a model is made to answer with data.
enum class structured_strategy : std::uint8_t {
  automatic, ///< provider, unless the model's profile has `structured_output` as false
  provider,  ///< the schema goes along with the request, and the answer's text is the data
  tool,      ///< the schema is a tool, and some tool has to be called for
};

/// What an agent's last answer is as data; it is kept as `structured_response`.
/// Shape:  `schema` a JSON Schema, null: text. Its `title` names it. With tools, each member of a
///         `oneOf` is one. `tool_message` is the content of the message that answers the call that
///         fitted; empty: the data.
/// Units:  `attempts_max` answers whose calls do not fit, since the last question; each but
///         the last is told why.
/// Source: langchain/agents/structured_output.py.
struct response_format {
  value schema = {};
  structured_strategy strategy = structured_strategy::automatic;
  std::string tool_message = {};
  std::size_t attempts_max = 3;

  response_format() = default;
  response_format(value of, structured_strategy how = structured_strategy::automatic)
    : schema(std::move(of)),
      strategy{how} {}
};

/// What an agent with middleware is made of.
/// Shape:  `system_prompt` stands before the conversation in every call and is not stored.
/// Source: langchain/agents/factory.py, create_agent.
struct agent_options {
  chat_model_ptr model;
  std::vector<tool> tools = {};
  std::string system_prompt = {};
  std::vector<troupe::middleware> middleware = {};
  troupe::response_format response_format = {};
  schema state = {};
  tool_node_options tool_node = {};
  /// Of each call. It is then answered with an error, and the agent goes on; a function that does
  /// not return holds its thread until it does (tool_runtime::info().stop_requested()). 0: no end.
  std::chrono::milliseconds tool_timeout{0};
  /// Answers in a row whose calls could all not be read; after each but the last the model is told
  /// why, and asked again. 0: such an answer ends the run, as in the reference.
  std::size_t malformed_answers_max = limits::malformed_answers_default;
  agent_context context_schema = {};
  std::string name = {}; ///< of the graph, its messages, and in metadata: `lc_agent_name`
  std::vector<std::string> interrupt_before = {};
  std::vector<std::string> interrupt_after = {};
  checkpointing checkpointer = checkpointing::inherit;
  std::shared_ptr<troupe::saver> saver = nullptr;
  /// Super-steps of a run that says nothing of them: as of compile_options.
  std::uint32_t recursion_limit = limits::recursion_limit_default;
};

/// The agent as a graph over `messages`: nodes `model`, `tools`, and `NAME.before_model` … of the
/// middleware.
/// Order:  each tool call is a task of its own, whose tool reads the state when it runs. It ends
///         when an answer calls for no tool, or when all tools that ran for an answer have
///         return_direct: after a reviewer's edit, the tool that ran counts.
/// Errors: throws error{invalid_graph} (of class AssertionError for two of one name, ValueError
///         for a missing model or an unknown jump), also for two tools or schemas of one name. Of a
///         run: what models, tools and hooks throw; ValueError for a tool that only the request
///         knows and no wrapper could run; StructuredOutputValidationError for a last answer that
///         is not the data asked for, MultipleStructuredOutputsError for one with several;
///         MalformedToolCallError after malformed_answers_max answers in a row whose calls could
///         not be read. A call of the history without an answer, or one that could not be read, is
///         answered with an error before the model sees it.
/// Source: langchain/agents/factory.py, create_agent.
compiled_graph create_agent(agent_options options);

} // namespace troupe
