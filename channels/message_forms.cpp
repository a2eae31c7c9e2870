// The forms in which a message may be written, and the one in which it is kept.
#include "channels/message_forms.hpp"

#include "graph/task_id.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

error no_message(std::string text) {
  return refused_message(std::move(text)
                         + "\nFor troubleshooting, visit: https://docs.langchain.com/oss/python/"
                           "langchain/errors/MESSAGE_COERCION_FAILURE ");
}

// ---- roles and ids --------------------------------------------------------------------------

// The role a name stands for; empty for a name that stands for none.
std::string_view find_role(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> roles[] = {
    {"user", "user"},     {"human", "user"},       {"assistant", "assistant"}, {"ai", "assistant"},
    {"system", "system"}, {"developer", "system"}, {"tool", "tool"},           {"remove", "remove"},
  };
  for (auto [known, role] : roles)
    if (known == name)
      return role;
  return {};
}

std::string_view role_of(const value& name) {
  auto text = name.is_string() ? std::string{name.as_string()} : to_json(name);
  auto role = find_role(text);
  if (role.empty())
    throw no_message("Unexpected message type: '" + text
                     + "'. Use one of 'human', 'user', 'ai', 'assistant', 'tool', 'system', or "
                       "'developer'.");
  return role;
}

std::string random_id() {
  std::array<std::uint64_t, 2> random{};
  if (::getentropy(random.data(), sizeof random) != 0)
    throw error{errc::invalid_update, "make a message id: the system gives no random bytes"};
  return uuid4(random[0], random[1]);
}

bool usable_id(const value& id) {
  return id.is_string() && !id.empty();
}

// Ids given as numbers become text.
value text_id(const value& id) {
  return id.is_int() ? value(std::to_string(id.as_int())) : id;
}

// ---- members --------------------------------------------------------------------------------

// A call in OpenAI's form, {id, function: {name, arguments: JSON text}}, in the plain one.
value plain_tool_call(const value& call) {
  const auto& function = call["function"];
  if (!function.is_map())
    return call;
  auto args = function["arguments"];
  if (args.is_string())
    args = from_json(args.as_string()).value();
  return value::map({{"name", function["name"]}, {"args", args}, {"id", call["id"]}});
}

value plain_tool_calls(const value& calls) {
  std::vector<value> plain;
  plain.reserve(calls.size());
  std::ranges::transform(calls.items(), std::back_inserter(plain), plain_tool_call);
  return value::list(std::move(plain));
}

value plain_content(const value& content, std::string_view role) {
  if (content.is_null())
    return "";
  if (role == "tool" && !content.is_string() && !content.is_list())
    return to_json(content);
  return content;
}

// A member under the name and in the form in which a message keeps it.
value::map_init plain_member(std::string_view key, const value& v, std::string_view role) {
  if (key == "content")
    return {"content", plain_content(v, role)};
  if (key == "id" || key == "tool_call_id")
    return {std::string{key}, text_id(v)};
  if (key == "tool_calls" && v.is_list())
    return {"tool_calls", plain_tool_calls(v)};
  if (key == "usage_metadata")
    return {"usage", v};
  return {std::string{key}, v};
}

// `role` and `type` name the role; a part is kept as a whole; null says nothing.
bool is_kept(const detail::map_entry& e) {
  return e.key() != "role" && e.key() != "type" && e.key() != "chunk"
         && (e.key() == "content" || !e.val.is_null());
}

// ---- forms ----------------------------------------------------------------------------------

value whole_message(const value& message) {
  if (message["chunk"].is_null())
    return message;
  return message.without("chunk").without("tool_call_chunks");
}

value from_members(const value& given) {
  const auto& name = given[given["role"].is_null() ? "type" : "role"];
  if (name.is_null() || !given.contains("content"))
    throw no_message("Message dict must contain 'role' and 'content' keys, got " + to_json(given));
  auto role = role_of(name);
  if (role == "remove")
    return value::extension(value_kind::remove_message, text_id(given["id"]));
  std::vector<value::map_init> members{{"role", role}};
  for (const auto& e : given.entries())
    if (is_kept(e))
      members.push_back(plain_member(e.key(), e.val, role));
  if (name == value("developer") && !given.contains("additional_kwargs"))
    members.emplace_back("additional_kwargs", value::map({{"__openai_role__", "developer"}}));
  return value::extension(value_kind::message, value::map(std::move(members)));
}

value from_pair(value role, value content) {
  return from_members(value::map({{"role", std::move(role)}, {"content", std::move(content)}}));
}

// `{"user", "hi"}` in braces is a map: the pair of C++.
bool is_braced_pair(const value& given) {
  return given.is_map() && given.size() == 1 && !find_role(given.entries()[0].key()).empty();
}

value without_id_made_up(const value& given) {
  if (given.is(value_kind::remove_message))
    return given;
  if (given.is(value_kind::message))
    return value::extension(value_kind::message, whole_message(given.payload()));
  if (given.is_string())
    return from_pair("user", given);
  if (given.is_list() && given.size() == 2)
    return from_pair(given[0], given[1]);
  if (given.is_list())
    throw no_message("Message as a sequence must be (role string, template)");
  if (is_braced_pair(given))
    return from_pair(given.entries()[0].key_value, given.entries()[0].val);
  if (given.is_map())
    return from_members(given);
  throw no_message("Unsupported message type: " + to_json(given));
}

} // namespace

value to_message(const value& given, bool& made_id) {
  made_id = false;
  if (is_plain_message(given))
    return given;
  auto message = without_id_made_up(given);
  made_id = !has_message_id(message);
  return made_id ? with_message_id(message) : message;
}

value coerce_message(const value& given) {
  return given.is(value_kind::message) ? given : without_id_made_up(given);
}

bool has_message_id(const value& message) {
  return message.is(value_kind::remove_message) || usable_id(message_id(message));
}

bool is_message_map(const value& v) {
  auto names_role = [&v](std::string_view key) {
    const auto& name = v[key];
    return name.is_string() && !find_role(name.as_string()).empty();
  };
  return v.is_map() && (names_role("role") || names_role("type"));
}

const value& message_id(const value& message) {
  return message.is(value_kind::message) ? message.payload()["id"] : message.payload();
}

value with_message_id(const value& message) {
  if (usable_id(message_id(message)))
    return message;
  return value::extension(value_kind::message, message.payload().with("id", value(random_id())));
}

bool is_plain_message(const value& v) {
  if (v.is(value_kind::message))
    return usable_id(message_id(v)) && v.payload()["chunk"].is_null();
  return v.is(value_kind::remove_message);
}

bool removes_all_messages(const value& v) {
  return v.is(value_kind::remove_message) && v.payload().as_string() == "__remove_all__";
}

error refused_message(std::string text) {
  return {errc::invalid_update, std::move(text), "ValueError"};
}

} // namespace troupe
