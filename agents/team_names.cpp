// team_names: names of agents, in tools and in texts for models.
#include "agents/team_names.hpp"

#include <troupe/agents/teams.hpp>

#include <cctype>
#include <optional>
#include <utility>

namespace troupe {
namespace {

std::string text_between(const std::string& text, const std::string& tag, bool& found) {
  auto open = '<' + tag + '>';
  auto begin = text.find(open);
  auto end = begin == std::string::npos ? begin : text.find("</" + tag + '>', begin);
  found &= end != std::string::npos;
  return found ? text.substr(begin + open.size(), end - begin - open.size()) : std::string{};
}

// The message with `text` in place of its text; blocks of other types stay.
value with_text(const value& message, const std::string& text) {
  const auto& content = message_member(message, "content");
  value changed(text);
  if (content.is_list()) {
    std::vector<value> blocks;
    if (!text.empty())
      blocks.push_back(text_block(text));
    for (const auto& block : content.items())
      if (!block.is_string() && block["type"] != value("text"))
        blocks.push_back(block);
    changed = value::list(std::move(blocks));
  }
  return value::extension(value_kind::message, message.payload().with("content", changed));
}

value with_name_inline(const value& message) {
  const auto& name = message_member(message, "name");
  if (message_role(message) != "assistant" || !name.is_string() || name.as_string().empty())
    return message;
  return with_text(message, "<name>" + name.as<std::string>() + "</name><content>"
                              + message_text(message) + "</content>");
}

value without_inline_name(const value& message) {
  auto text = message_text(message);
  bool found = true;
  text_between(text, "name", found);
  auto content = text_between(text, "content", found);
  return found ? with_text(message, content) : message;
}

class naming_model final : public chat_model {
public:
  explicit naming_model(chat_model_ptr model) : model_{std::move(model)} {}
  std::string name() const override { return model_->name(); }
  value profile() const override { return model_->profile(); }
  value bound_tools() const override { return model_->bound_tools(); }
  chat_model_ptr unbound() const override {
    auto inner = model_->unbound();
    return inner ? std::make_shared<naming_model>(inner) : nullptr;
  }
  coro<value> invoke(model_request request, context& ctx) override {
    std::vector<value> told;
    for (const auto& m : request.messages.items())
      told.push_back(with_name_inline(m));
    request.messages = value::list(std::move(told));
    request.on_part = nullptr; // parts would show the marks
    auto call = model_->invoke(std::move(request), ctx);
    auto answer = co_await call;
    co_return without_inline_name(answer);
  }

private:
  chat_model_ptr model_;
};

} // namespace

std::string transfer_name(std::string_view prefix, std::string_view agent) {
  std::string out{prefix};
  bool blank = false;
  for (char c : agent) {
    auto byte = static_cast<unsigned char>(c);
    if (std::isspace(byte)) {
      blank = true;
      continue;
    }
    if (std::exchange(blank, false) && out.size() > prefix.size())
      out += '_';
    out += static_cast<char>(byte < 0x80 ? std::tolower(byte) : c);
  }
  return out;
}

chat_model_ptr with_agent_name(chat_model_ptr model, agent_name_mode mode) {
  if (mode == agent_name_mode::none)
    return model;
  return std::make_shared<naming_model>(std::move(model));
}

} // namespace troupe
