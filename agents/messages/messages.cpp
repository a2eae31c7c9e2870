// messages: making and reading them.
#include <troupe/agents/messages.hpp>

#include <utility>

namespace troupe {
namespace {

constinit const value nothing;

value make(std::string_view role, value content, std::string_view id,
           std::vector<value::map_init> more = {}) {
  more.emplace_back("role", role);
  more.emplace_back("content", std::move(content));
  if (!id.empty())
    more.emplace_back("id", id);
  return value::extension(value_kind::message, value::map(std::move(more)));
}

} // namespace

value value_traits<tool_call>::to(const tool_call& call) {
  return value::map({{"type", "tool_call"},
                     {"name", call.name},
                     {"args", call.args},
                     {"id", call.id.empty() ? value{} : value(call.id)}});
}

tool_call value_traits<tool_call>::from(const value& v) {
  if (!v["name"].is_string())
    throw error{errc::invalid_value,
                "read a tool call: not a map with a text `name`: " + to_json(v)};
  return {.name = v["name"].as<std::string>(),
          .args = v["args"].is_null() ? value::map() : v["args"],
          .id = v["id"].is_string() ? v["id"].as<std::string>() : std::string{}};
}

// ---- making ---------------------------------------------------------------------------------

value human_message(value content, std::string_view id) {
  return make("user", std::move(content), id);
}

value system_message(value content, std::string_view id) {
  return make("system", std::move(content), id);
}

value ai_message(value content, const std::vector<tool_call>& calls, std::string_view id) {
  if (calls.empty())
    return make("assistant", std::move(content), id);
  return make("assistant", std::move(content), id, {{"tool_calls", value::of(calls)}});
}

value tool_message(value content, std::string_view tool_call_id, std::string_view name,
                   std::string_view status) {
  std::vector<value::map_init> more{{"tool_call_id", tool_call_id}};
  if (!name.empty())
    more.emplace_back("name", name);
  if (status != "success")
    more.emplace_back("status", status);
  return make("tool", std::move(content), {}, std::move(more));
}

value remove_message(std::string_view id) {
  return value::extension(value_kind::remove_message, id);
}

value text_block(std::string_view text) {
  return value::map({{"type", "text"}, {"text", text}});
}

value image_url_block(std::string_view url) {
  return value::map({{"type", "image"}, {"url", url}});
}

value image_block(std::string_view base64, std::string_view mime_type) {
  return value::map({{"type", "image"}, {"base64", base64}, {"mime_type", mime_type}});
}

value thinking_block(std::string_view thinking, std::string_view signature) {
  auto block = value::map({{"type", "thinking"}, {"thinking", thinking}});
  return signature.empty() ? block : block.with("signature", signature);
}

value tool_use_block(const tool_call& call) {
  return value::map(
    {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", call.args}});
}

value tool_result_block(std::string_view tool_use_id, value content, bool is_error) {
  auto block = value::map(
    {{"type", "tool_result"}, {"tool_use_id", tool_use_id}, {"content", std::move(content)}});
  return is_error ? block.with("is_error", true) : block;
}

// ---- reading --------------------------------------------------------------------------------

bool is_message(const value& v) noexcept {
  return v.is(value_kind::message);
}

const value& message_member(const value& message, std::string_view name) noexcept {
  return is_message(message) ? message.payload()[name] : nothing;
}

std::string_view message_role(const value& message) noexcept {
  const auto& role = message_member(message, "role");
  return role.is_string() ? role.as_string() : std::string_view{};
}

std::string message_text(const value& message) {
  const auto& content = message_member(message, "content");
  if (content.is_string())
    return content.as<std::string>();
  std::string out;
  for (const auto& block : content.items())
    if (block.is_string())
      out += block.as_string();
    else if (block["type"] == value("text") && block["text"].is_string())
      out += block["text"].as_string();
  return out;
}

const value& message_tool_calls(const value& message) noexcept {
  static const value none = value::list();
  const auto& calls = message_member(message, "tool_calls");
  return calls.is_list() ? calls : none;
}

} // namespace troupe
