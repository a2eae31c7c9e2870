// grammar_model: a model whose answers a grammar restricts to its tools and schemas.
#include "agents/grammar/tool_text.hpp"

#include <troupe/agents/grammar.hpp>
#include <troupe/agents/messages.hpp>
#include <troupe/error.hpp>

#include <utility>

namespace troupe {
namespace {

value with_setting(const value& settings, std::string_view path, value v) {
  auto dot = path.find('.');
  if (dot == path.npos)
    return settings.with(path, std::move(v));
  const auto& inner = settings[path.substr(0, dot)];
  return settings.with(path.substr(0, dot), with_setting(inner.is_map() ? inner : value::map(),
                                                         path.substr(dot + 1), std::move(v)));
}

bool is_member_path(std::string_view path) {
  return !path.empty() && path.front() != '.' && path.back() != '.' && path.find("..") == path.npos;
}

struct told_request {
  model_request request;
  bool may_call = false;
};

told_request told_request_of(model_request asked, const tool_grammar_options& options) {
  auto wanted = wanted_calls_of(asked.tool_choice);
  tool_answer_form form{asked.tool_choice, asked.response_schema, options.calls_max};
  if (asked.settings["parallel_tool_calls"] == value(false))
    form.calls_max = 1;
  asked.settings = asked.settings.without("parallel_tool_calls");
  if (!asked.tools.empty() || !form.response_schema.is_null() || wanted.must)
    asked.settings = with_setting(asked.settings, options.member, gbnf_of_tools(asked.tools, form));
  asked.messages = told_messages(asked.messages,
                                 told_tools(asked.tools, wanted, form.response_schema));
  bool may_call = wanted.may && !asked.tools.empty();
  asked.tools = value::list();
  asked.tool_choice = {};
  asked.response_schema = {};
  return {std::move(asked), may_call};
}

// Parts on their way to a reader: passed on as they come, unless the text is calls.
class told_parts {
public:
  explicit told_parts(std::function<void(const value&)> give) : give_{std::move(give)} {}

  void take(const value& part) {
    if (passes_)
      return give_(part);
    held_.push_back(part);
    if (auto text = message_text(part); !began_ && !text.empty()) {
      began_ = true;
      if (!begins_calls(text))
        pass(std::exchange(held_, {}));
    }
  }
  void finish(const value& answer, bool calls) {
    if (!held_.empty())
      pass(calls ? parts_with_calls(held_, answer) : held_);
  }

private:
  void pass(const std::vector<value>& parts) {
    passes_ = true;
    for (const auto& part : parts)
      give_(part);
  }

  std::function<void(const value&)> give_;
  std::vector<value> held_;
  bool began_ = false;
  bool passes_ = false;
};

class grammar_model final : public chat_model {
public:
  grammar_model(chat_model_ptr model, tool_grammar_options options)
    : model_{std::move(model)},
      options_{std::move(options)} {}

  std::string name() const override { return model_->name(); }
  value profile() const override { return model_->profile().with("structured_output", true); }
  coro<value> invoke(model_request request, context& ctx) override {
    auto [asked, may_call] = told_request_of(std::move(request), options_);
    if (!may_call) {
      auto plain = model_->invoke(std::move(asked), ctx);
      auto text = co_await plain;
      co_return text;
    }
    std::shared_ptr<told_parts> parts;
    if (asked.on_part) {
      parts = std::make_shared<told_parts>(std::move(asked.on_part));
      asked.on_part = [parts](const value& part) { parts->take(part); };
    }
    auto call = model_->invoke(std::move(asked), ctx);
    auto answer = co_await call;
    auto with_calls = is_message(answer) ? answer_with_calls(answer) : std::nullopt;
    if (with_calls)
      answer = *with_calls;
    if (parts)
      parts->finish(answer, with_calls.has_value());
    co_return answer;
  }

private:
  chat_model_ptr model_;
  tool_grammar_options options_;
};

} // namespace

chat_model_ptr with_tool_grammar(chat_model_ptr model, tool_grammar_options options) {
  auto refuse = [](const char* why) {
    return error{errc::invalid_config, std::string{"add a grammar to a chat model: "} + why};
  };
  if (!model)
    throw refuse("the model is missing");
  if (!model->bound_tools().is_null())
    throw refuse("the model has bound tools: bind them to the model that has the grammar");
  if (!is_member_path(options.member))
    throw refuse("the path of the member has an empty name");
  return std::make_shared<grammar_model>(std::move(model), std::move(options));
}

} // namespace troupe
