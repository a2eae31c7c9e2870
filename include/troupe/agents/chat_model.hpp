// The chat model: its interface, how a body asks one, and models that need no network.
#pragma once

#include <troupe/agents/tool.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// A request to a model. A class, so that it can stand in a co_await expression.
/// Shape:  `messages`: a list of message values. `tools`: a list of definitions (tool::definition).
///         `tool_choice`: null, "auto", "any", "none" or a tool's name. `response_schema`: the JSON
///         Schema of the answer, or null. `response_strict`: whether the provider must enforce that
///         schema; unset: if the schema allows it. `settings`: a map (temperature, max_tokens …)
///         with the provider's names.
/// Errors: none.
/// Source: langchain_core/language_models/chat_models.py.
class model_request {
public:
  model_request() = default;
  explicit model_request(value of_messages) : messages(std::move(of_messages)) {}

  value messages = value::list();
  value tools = value::list();
  value tool_choice = {};
  value response_schema = {};
  std::optional<bool> response_strict = std::nullopt;
  value settings = value::map();
  /// Further HTTP headers of this request: names and values.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Receives the parts of the answer as they arrive. Unset: the answer is given as a whole.
  std::function<void(const value& part)> on_part = {};
};

/// A chat model.
/// Thread: several runs may ask one model at once.
/// Errors: those of its members.
/// Source: langchain_core/language_models/chat_models.py, BaseChatModel.
class chat_model {
public:
  chat_model() = default;
  chat_model(const chat_model&) = delete;
  chat_model& operator=(const chat_model&) = delete;
  virtual ~chat_model() = default;

  /// The name for messages and traces, "provider:model".
  virtual std::string name() const = 0;
  /// The known properties of the model.
  /// Shape:  a map; unknown properties are missing. Agents read max_input_tokens (an integer) and
  ///         structured_output (a boolean: whether it answers by a schema).
  /// Source: langchain_core/language_models/model_profile.py.
  virtual value profile() const { return value::map(); }
  /// The answer, an assistant message. A streaming model first gives its parts to request.on_part,
  /// all with the answer's id; join_chunks() of them is the answer.
  /// Errors: throws any failure.
  virtual coro<value> invoke(model_request request, context& ctx) = 0;
  /// Definitions of tools that are part of every request; null without bound tools.
  virtual value bound_tools() const { return {}; }
  /// The model without its bindings; null for a model without bindings.
  virtual std::shared_ptr<chat_model> unbound() const { return nullptr; }
};
/// A model, shared by its users.
/// Errors: none.
/// Source: troupe.
using chat_model_ptr = std::shared_ptr<chat_model>;

/// The answer of `model`, with an id. Readers of the `messages` stream get the answer, or its
/// parts.
///     auto call = troupe::ask_model(*model, request, ctx);
///     auto answer = co_await call;
/// Errors: those of the model; invalid_value when its answer is not an assistant message.
/// Source: langchain_core/language_models/chat_models.py, BaseChatModel.invoke.
coro<value> ask_model(chat_model& model, model_request request, context& ctx);

/// The answer as data that fits request.response_schema.
/// Errors: as ask_model; node_failed of class StructuredOutputValidationError when the answer does
///         not fit the schema.
/// Source: langchain_core/language_models/chat_models.py, with_structured_output.
coro<value> ask_structured(chat_model& model, model_request request, context& ctx);

/// The data in an answer to a request with this response_schema.
/// Errors: throws node_error of class StructuredOutputValidationError.
/// Source: langchain_core/language_models/chat_models.py, with_structured_output.
value structured_answer(const value& answer, const value& schema);

/// `model` with these tools, or settings, in every request that sets none.
/// Errors: none.
/// Source: langchain_core/language_models/chat_models.py, bind_tools; runnables/base.py, bind.
chat_model_ptr bind_tools(chat_model_ptr model, const std::vector<tool>& tools,
                          value tool_choice = {});
chat_model_ptr bind_settings(chat_model_ptr model, value settings);

/// The definitions of tools, a list.
/// Errors: none.
/// Source: troupe.
value tool_definitions(const std::vector<tool>& tools);

/// How a scripted_model answers.
/// Errors: none.
/// Source: troupe.
struct scripted_options {
  bool stream = false; ///< in parts, a word each, when there is a reader
  bool repeat = false; ///< starts over after the last answer
  std::string name = "scripted";
};

/// A model that gives prepared answers, one a call, in order. For tests.
/// Shape:  an answer is an assistant message, a text, or data (for a request with a
///         response_schema). A function of the messages may stand for it, which gives one of these
///         or throws.
/// Errors: a call fails with missing_key when no answer is left.
/// Source: langchain_core/language_models/fake_chat_models.py, GenericFakeChatModel.
class scripted_model final : public chat_model {
public:
  using function = std::function<value(const value& messages)>;
  using answer = std::variant<value, function>;

  explicit scripted_model(std::vector<answer> answers, scripted_options options = {});

  std::string name() const override { return options_.name; }
  coro<value> invoke(model_request request, context& ctx) override;
  /// The requests so far; empty for a model that repeats itself.
  std::vector<model_request> requests() const;

private:
  answer next(const model_request& request);
  std::vector<answer> answers_;
  scripted_options options_;
  mutable std::mutex mutex_;
  std::size_t asked_ = 0;
  std::vector<model_request> requests_;
};

/// A model that repeats the last message, word by word when there is a reader of parts.
/// Errors: none.
/// Source: troupe; langchain_core/language_models/fake_chat_models.py, ParrotFakeChatModel.
class echo_model final : public chat_model {
public:
  std::string name() const override { return "echo"; }
  coro<value> invoke(model_request request, context& ctx) override;
};

/// The parts in which a message is streamed: its words, each with the white space after it, then
/// one for each tool call. The last part has the usage. All have the message's id.
/// Shape:  at least one.
/// Errors: none.
/// Source: troupe.
std::vector<value> parts_of_message(const value& message);

/// A model by "provider:model", or "provider" alone when the provider has only one.
/// Shape:  known providers: anthropic, openai, echo; with options: troupe/model_providers.hpp.
/// Errors: throws error{invalid_config}, for an unknown provider with a list of the known ones.
/// Source: langchain/chat_models/base.py, init_chat_model.
chat_model_ptr init_chat_model(std::string_view name);

} // namespace troupe
