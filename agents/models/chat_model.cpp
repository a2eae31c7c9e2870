// chat_model: asking models, and binding settings to them.
#include "agents/messages/json_text.hpp"

#include <troupe/agents/chat_model.hpp>

#include <troupe/message.hpp>
#include <troupe/runtime.hpp>

#include <algorithm>

namespace troupe {
namespace {

bool is_answer(const value& v) {
  return message_role(v) == "assistant";
}

error no_answer(const chat_model& model, const value& given) {
  return {errc::invalid_value,
          "ask model `" + model.name()
            + "`: its answer is not an assistant's message: " + to_json(given)};
}

node_error not_structured(const value& schema, const std::string& why) {
  const auto& title = schema["title"];
  auto name = title.is_string() ? title.as<std::string>() : std::string{"response"};
  return {"StructuredOutputValidationError",
          "Failed to parse structured output for '" + name + "': " + why + '.'};
}

// A model with settings that are sent with every request.
class bound_model final : public chat_model {
public:
  bound_model(chat_model_ptr model, value tools, value choice, value settings)
    : model_{std::move(model)},
      tools_(std::move(tools)),
      choice_(std::move(choice)),
      settings_(std::move(settings)) {}

  std::string name() const override { return model_->name(); }
  value profile() const override { return model_->profile(); }
  value bound_tools() const override { return tools_.is_null() ? model_->bound_tools() : tools_; }
  chat_model_ptr unbound() const override {
    auto inner = model_->unbound();
    return inner ? inner : model_;
  }
  coro<value> invoke(model_request request, context& ctx) override {
    if (!tools_.is_null() && request.tools.empty())
      request.tools = tools_;
    if (request.tool_choice.is_null())
      request.tool_choice = choice_;
    for (const auto& e : settings_.entries())
      if (!request.settings.contains(e.key()))
        request.settings = request.settings.with(e.key(), e.val);
    return model_->invoke(std::move(request), ctx);
  }

private:
  chat_model_ptr model_;
  value tools_;
  value choice_;
  value settings_;
};

} // namespace

value structured_answer(const value& answer, const value& schema) {
  auto data = message_member(answer, "parsed");
  if (data.is_null()) {
    auto read = from_json(message_text(answer), json_form::plain);
    if (!read)
      throw not_structured(schema, read.error().message());
    data = std::move(*read);
  }
  if (auto wrong = check_schema(schema, data); !wrong.empty())
    throw not_structured(schema,
                         (wrong[0].path.empty() ? "" : wrong[0].path + ": ") + wrong[0].message);
  return data;
}

coro<value> ask_model(chat_model& model, model_request request, context& ctx) {
  bool streamed = false;
  if (ctx.is_streaming(stream_mode::messages))
    request.on_part = [&ctx, &streamed, also = std::move(request.on_part)](const value& part) {
      streamed = true;
      ctx.stream_message(part);
      if (also)
        also(part);
    };
  auto call = model.invoke(std::move(request), ctx);
  auto answer = co_await call;
  if (!is_answer(answer))
    throw no_answer(model, answer);
  answer = with_message_id(answer);
  if (!streamed)
    ctx.stream_message(answer);
  co_return answer;
}

coro<value> ask_structured(chat_model& model, model_request request, context& ctx) {
  auto schema = request.response_schema;
  auto call = model.invoke(std::move(request), ctx);
  auto answer = co_await call;
  if (!is_answer(answer))
    throw no_answer(model, answer);
  co_return structured_answer(answer, schema);
}

value tool_definitions(const std::vector<tool>& tools) {
  std::vector<value> out;
  out.reserve(tools.size());
  for (const auto& t : tools)
    out.push_back(t.definition());
  return value::list(std::move(out));
}

chat_model_ptr bind_tools(chat_model_ptr model, const std::vector<tool>& tools, value tool_choice) {
  return std::make_shared<bound_model>(std::move(model), tool_definitions(tools),
                                       std::move(tool_choice), value::map());
}

chat_model_ptr bind_settings(chat_model_ptr model, value settings) {
  return std::make_shared<bound_model>(std::move(model), value{}, value{}, std::move(settings));
}

} // namespace troupe
