// Middleware for personal data: hides it from models, in their answers, and in results of tools.
#include "agents/middleware/pii_stream.hpp"

#include <algorithm>
#include <memory>

namespace troupe {
namespace {

using guard_ptr = std::shared_ptr<const pii_guard>;

void look_at(const pii_guard& by, const value& message, std::vector<value>& changed) {
  if (auto cleaned = by.clean_message(message))
    changed.push_back(std::move(*cleaned));
}

value update_of(std::vector<value> changed) {
  if (changed.empty())
    return {};
  return value::map({{"messages", value::list(std::move(changed))}});
}

value before_model(const pii_guard& by, const state_view& state) {
  auto all = state["messages"].items();
  std::vector<value> changed;
  auto last = [&](std::string_view role) {
    return std::ranges::find_if(all.rbegin(), all.rend(),
                                [role](const value& m) { return message_role(m) == role; });
  };
  if (auto user = last("user"); by.options.input && user != all.rend())
    look_at(by, *user, changed);
  if (by.options.tool_results)
    for (auto at = all.rbegin(); at != last("assistant"); ++at)
      if (message_role(*at) == "tool")
        look_at(by, *at, changed);
  return update_of(std::move(changed));
}

value after_model(const pii_guard& by, const state_view& state) {
  auto all = state["messages"].items();
  std::vector<value> changed;
  if (!all.empty() && message_role(all.back()) == "assistant")
    look_at(by, all.back(), changed);
  return update_of(std::move(changed));
}

// A model whose answers are cleaned before anything else sees them.
class guarded_model final : public chat_model {
public:
  guarded_model(guard_ptr by, chat_model_ptr model)
    : by_{std::move(by)},
      model_{std::move(model)} {}
  std::string name() const override { return model_->name(); }
  value profile() const override { return model_->profile(); }
  value bound_tools() const override { return model_->bound_tools(); }
  chat_model_ptr unbound() const override {
    auto inner = model_->unbound();
    return inner ? std::make_shared<guarded_model>(by_, inner) : nullptr;
  }
  coro<value> invoke(model_request request, context& ctx) override {
    std::shared_ptr<pii_stream> parts;
    if (request.on_part) {
      parts = std::make_shared<pii_stream>(by_, std::move(request.on_part));
      request.on_part = [parts](const value& part) { parts->part(part); };
    }
    auto call = model_->invoke(std::move(request), ctx);
    auto answer = co_await call;
    if (parts)
      parts->finish();
    auto cleaned = by_->clean_message(answer);
    co_return cleaned ? *cleaned : answer;
  }

private:
  guard_ptr by_;
  chat_model_ptr model_;
};

// Runs a tool, and cleans the messages in its result and in its events.
coro<tool_output> clean_results(guard_ptr by, tool_call_request request, tool_executor run) {
  pii_tool_events clean_events{by};
  filtered_tool_events told{request.runtime(), clean_events};
  auto called = run(std::move(request));
  auto out = co_await called;
  const auto* message = out.is_list() ? nullptr : std::get_if<value>(&out.parts().front());
  auto cleaned = message ? by->clean_message(*message) : std::nullopt;
  if (!cleaned)
    co_return out;
  co_return tool_output{std::move(*cleaned)};
}

} // namespace

std::optional<value> pii_guard::clean_message(const value& message) const {
  const auto& content = message_member(message, "content");
  auto with_content = [&message](value changed) {
    return value::extension(value_kind::message,
                            message.payload().with("content", std::move(changed)));
  };
  if (content.is_string()) {
    auto text = clean(content.as_string());
    return text ? std::optional{with_content(value(*text))} : std::nullopt;
  }
  std::vector<value> blocks;
  bool changed = false;
  for (const auto& block : content.items()) {
    auto text = block["text"].is_string() ? clean(block["text"].as_string()) : std::nullopt;
    blocks.push_back(text ? block.with("text", *text) : block);
    changed |= text.has_value();
  }
  return changed ? std::optional{with_content(value::list(std::move(blocks)))} : std::nullopt;
}

middleware pii(std::string type, pii_options options) {
  auto find = options.find ? pii_finder{options.find} : pii_finder_of(type);
  auto by = std::make_shared<const pii_guard>(
    pii_guard{std::move(type), std::move(options), std::move(find)});
  middleware out;
  out.name = "pii[" + by->type + ']';
  out.before_model = [by](const state_view& state) { return before_model(*by, state); };
  if (by->options.tool_results)
    out.wrap_tool_call = [by](tool_call_request request, tool_executor run) {
      return clean_results(by, std::move(request), std::move(run));
    };
  if (!by->options.output)
    return out;
  out.wrap_model_call = [by](model_call call, model_executor run) {
    call.around.push_back([by](chat_model_ptr model) -> chat_model_ptr {
      return std::make_shared<guarded_model>(by, std::move(model));
    });
    return run(std::move(call));
  };
  // Cleans the answer that another middleware gave in place of the model's.
  out.after_model = [by](const state_view& state) { return after_model(*by, state); };
  return out;
}

} // namespace troupe
