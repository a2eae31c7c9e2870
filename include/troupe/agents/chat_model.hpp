// What a chat model is, how a body asks one, and models that need no network.
#pragma once

#include <troupe/agents/tool.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// What a model is asked. A class, so that it can stand in a co_await expression.
/// Shape:  `messages` a list of message values; `tools` a list of definitions (tool::definition);
///         `tool_choice` null, "auto", "any", "none" or a tool's name; `response_schema` the JSON
///         Schema of the answer, or null; `settings` a map (temperature, max_tokens …) of the
///         provider's names.
/// Source: langchain_core/language_models/chat_models.py.
class model_request {
public:
  model_request() = default;
  explicit model_request(value of_messages) : messages(std::move(of_messages)) {}

  value messages = value::list();
  value tools = value::list();
  value tool_choice = {};
  value response_schema = {};
  value settings = value::map();
  /// Further headers of this request, where it goes over HTTP: names and values.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Given the parts of the answer as they come, where somebody reads them; unset: nobody does.
  std::function<void(const value& part)> on_part = {};
};

/// A chat model.
/// Thread: several runs may ask one model at once.
class chat_model {
public:
  chat_model() = default;
  chat_model(const chat_model&) = delete;
  chat_model& operator=(const chat_model&) = delete;
  virtual ~chat_model() = default;

  /// For messages and traces, "provider:model".
  virtual std::string name() const = 0;
  /// What is known of the model beforehand.
  /// Shape:  a map; read by agents: max_input_tokens (an integer), structured_output (a boolean:
  ///         whether it answers by a schema). What is not known is not in it.
  /// Source: langchain_core/language_models/model_profile.py.
  virtual value profile() const { return value::map(); }
  /// The answer, an assistant's message. A model that can stream gives its parts to
  /// request.on_part first, all with the answer's id; join_chunks() of them is the answer.
  /// Errors: throws what went wrong.
  virtual coro<value> invoke(model_request request, context& ctx) = 0;
  /// Definitions of tools that are part of every request; null for a model without.
  virtual value bound_tools() const { return {}; }
  /// The model without what is bound to it; null for a model without.
  virtual std::shared_ptr<chat_model> unbound() const { return nullptr; }
};
using chat_model_ptr = std::shared_ptr<chat_model>;

/// The answer of `model`, with an id. It, or its parts, go to readers of the `messages` stream.
///     auto call = troupe::ask_model(*model, request, ctx);
///     auto answer = co_await call;
/// Errors: what the model throws; invalid_value when it answers with something else.
/// Source: langchain_core/language_models/chat_models.py, BaseChatModel.invoke.
coro<value> ask_model(chat_model& model, model_request request, context& ctx);

/// The answer as data that fits request.response_schema.
/// Errors: as ask_model; node_failed of class StructuredOutputValidationError when the answer is no
///         such data.
/// Source: langchain_core/language_models/chat_models.py, with_structured_output.
coro<value> ask_structured(chat_model& model, model_request request, context& ctx);

/// The data in an answer to a request with this response_schema.
/// Errors: throws node_error of class StructuredOutputValidationError.
value structured_answer(const value& answer, const value& schema);

/// `model` with these tools, or settings, in every request that names none.
/// Source: langchain_core/language_models/chat_models.py, bind_tools; runnables/base.py, bind.
chat_model_ptr bind_tools(chat_model_ptr model, const std::vector<tool>& tools,
                          value tool_choice = {});
chat_model_ptr bind_settings(chat_model_ptr model, value settings);

/// The definitions of tools, a list.
value tool_definitions(const std::vector<tool>& tools);

/// How a model without a network speaks.
struct scripted_options {
  bool stream = false; ///< in parts, a word each, where somebody reads them
  bool repeat = false; ///< starts over behind the last answer
  std::string name = "scripted";
};

/// A model that gives prepared answers, one a call, in order. For tests.
/// Shape:  an answer is an assistant's message, a text, data (for a request with a
///         response_schema), or a function of the messages that gives one of these, or throws.
/// Errors: of a call: missing_key when no answer is left.
/// Source: langchain_core/language_models/fake_chat_models.py, GenericFakeChatModel.
class scripted_model final : public chat_model {
public:
  using function = std::function<value(const value& messages)>;
  using answer = std::variant<value, function>;

  explicit scripted_model(std::vector<answer> answers, scripted_options options = {});

  std::string name() const override { return options_.name; }
  coro<value> invoke(model_request request, context& ctx) override;
  /// What it was asked so far; nothing of one that repeats itself.
  std::vector<model_request> requests() const;

private:
  answer next(const model_request& request);
  std::vector<answer> answers_;
  scripted_options options_;
  mutable std::mutex mutex_;
  std::size_t asked_ = 0;
  std::vector<model_request> requests_;
};

/// A model that says what it was told last, word by word where somebody reads parts.
/// Source: troupe; langchain_core/language_models/fake_chat_models.py, ParrotFakeChatModel.
class echo_model final : public chat_model {
public:
  std::string name() const override { return "echo"; }
  coro<value> invoke(model_request request, context& ctx) override;
};

/// The parts in which a message is streamed: its words, each with the white space behind it, then
/// one for each tool call; the last one has the usage. All have its id.
/// Shape:  at least one.
std::vector<value> parts_of_message(const value& message);

/// A model by "provider:model", or "provider" alone where there is but one.
/// Shape:  known providers: anthropic, openai, echo; with options: troupe/chat_models.hpp.
/// Errors: throws error{invalid_config}, for an unknown provider with a list of the known ones.
/// Source: langchain/chat_models/base.py, init_chat_model.
chat_model_ptr init_chat_model(std::string_view name);

} // namespace troupe
