// message_lists: filtering conversations, and joining neighbouring messages.
#include "agents/messages/message_lists.hpp"

#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

// ---- filter ---------------------------------------------------------------------------------

template <class Drop> value remaining(const value& list, Drop drop) {
  std::vector<value> out;
  for (const auto& item : list.items())
    if (!drop(item))
      out.push_back(item);
  return value::list(std::move(out));
}

// The message without these calls; nullopt when no call is left.
std::optional<value> without_calls(const value& message, const std::vector<std::string>& ids) {
  auto is_one = [&ids](const value& call) { return names(ids, call["id"]); };
  const auto& calls = message_tool_calls(message);
  if (std::ranges::none_of(calls.items(), is_one))
    return message;
  auto left = remaining(calls, is_one);
  if (left.empty())
    return std::nullopt;
  auto content = message_member(message, "content");
  if (content.is_list())
    content = remaining(content, [&](const value& block) {
      return block["type"] == value("tool_use") && is_one(block);
    });
  return with_member(with_member(message, "tool_calls", left), "content", content);
}

bool excluded(const value& m, const message_filter& filter) {
  if (names(filter.exclude_names, message_member(m, "name")) || is_of_type(m, filter.exclude_types)
      || names(filter.exclude_ids, message_member(m, "id")))
    return true;
  bool of_tool = message_role(m) == "tool";
  if (filter.exclude_tool_calls && (of_tool || !message_tool_calls(m).empty()))
    return true;
  return of_tool && names(filter.exclude_tool_call_ids, message_member(m, "tool_call_id"));
}

bool included(const value& m, const message_filter& filter) {
  if (filter.include_names.empty() && filter.include_types.empty() && filter.include_ids.empty())
    return true;
  return names(filter.include_names, message_member(m, "name"))
         || is_of_type(m, filter.include_types)
         || names(filter.include_ids, message_member(m, "id"));
}

// ---- runs -----------------------------------------------------------------------------------

value joined_pair(const value& left, const value& right, std::string_view separator) {
  auto strip = [](const value& m) {
    return value::extension(value_kind::message, m.payload().without("response_metadata"));
  };
  auto later = strip(right);
  auto text = message_member(left, "content");
  const auto& more = message_member(later, "content");
  if (text.is_string() && more.is_string() && !text.empty() && !more.empty())
    later = with_member(later, "content", value(std::string{separator} + more.as<std::string>()));
  auto out = add_chunks(left, later);
  return with_member(with_member(out, "id", message_member(left, "id")), "response_metadata",
                     message_member(left, "response_metadata"));
}

value without_nulls(const value& message) {
  auto members = message.payload();
  for (const auto* name : {"id", "response_metadata"})
    if (members[name].is_null())
      members = members.without(name);
  return value::extension(value_kind::message, std::move(members));
}

// ---- text -----------------------------------------------------------------------------------

std::string_view prefix_of(std::string_view role) {
  constexpr std::pair<std::string_view, std::string_view> prefixes[] = {
    {"user", "Human"}, {"assistant", "AI"}, {"system", "System"}, {"tool", "Tool"}};
  for (auto [name, prefix] : prefixes)
    if (name == role)
      return prefix;
  return role;
}

std::string_view class_of(std::string_view role) {
  return role == "user" ? "human" : role == "assistant" ? "ai" : role;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  return out;
}

std::string attribute(std::string_view text) {
  auto out = escaped(text);
  for (auto at = out.find('"'); at != std::string::npos; at = out.find('"', at))
    out.replace(at, 1, "&quot;");
  return '"' + out + '"';
}

// Longer ids are shortened to a length that still distinguishes calls.
std::string shown_id(const value& id) {
  constexpr std::size_t most = 64;
  auto text = text_in(id);
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

std::string as_xml(const value& message) {
  std::string head = "<message type=" + attribute(class_of(message_role(message))) + ">";
  auto text = escaped(message_text(message));
  const auto& calls = message_tool_calls(message);
  if (calls.empty())
    return head + text + "</message>";
  auto out = head + '\n';
  if (!text.empty())
    out += "  <content>" + text + "</content>\n";
  for (const auto& call : calls.items())
    out += "  <tool_call id=" + attribute(shown_id(call["id"]))
           + " name=" + attribute(text_in(call["name"])) + ">" + escaped(spaced_json(call["args"]))
           + "</tool_call>\n";
  return out + "</message>";
}

std::string as_line(const value& message) {
  auto out = std::string{prefix_of(message_role(message))} + ": " + message_text(message);
  if (const auto& calls = message_tool_calls(message); !calls.empty())
    out += spaced_json(calls);
  return out;
}

} // namespace

bool names(const std::vector<std::string>& list, const value& text) {
  return text.is_string() && std::ranges::find(list, text.as_string()) != list.end();
}

std::string random_id() {
  return message_member(with_message_id(ai_message("")), "id").as<std::string>();
}

std::string_view role_of_type(std::string_view type) noexcept {
  return type == "human" ? "user" : type == "ai" ? "assistant" : type;
}

bool is_of_type(const value& message, const std::vector<std::string>& types) {
  return std::ranges::any_of(types, [role = message_role(message)](const std::string& type) {
    return role_of_type(type) == role;
  });
}

value with_section(const value& system, std::string_view section) {
  if (system.is_null())
    return system_message(value(section));
  const auto& content = message_member(system, "content");
  auto blocks = content.is_list() ? content : value::list({text_block(message_text(system))});
  return value::extension(
    value_kind::message,
    system.payload().with("content", blocks.append(text_block("\n\n" + std::string{section}))));
}

value with_member(const value& message, std::string_view name, value v) {
  return value::extension(value_kind::message, message.payload().with(name, std::move(v)));
}

value without_orphans(const value& messages) {
  std::vector<value> out;
  std::vector<value> called;
  for (const auto& m : messages.items()) {
    for (const auto& call : message_tool_calls(m).items())
      called.push_back(call["id"]);
    bool orphan = message_role(m) == "tool"
                  && std::ranges::find(called, message_member(m, "tool_call_id")) == called.end();
    if (!orphan)
      out.push_back(m);
  }
  return value::list(std::move(out));
}

value filter_messages(const value& messages, const message_filter& filter) {
  std::vector<value> out;
  for (const auto& m : messages.items()) {
    if (excluded(m, filter))
      continue;
    auto left = without_calls(m, filter.exclude_tool_call_ids);
    if (left && included(*left, filter))
      out.push_back(std::move(*left));
  }
  return value::list(std::move(out));
}

value merge_message_runs(const value& messages, std::string_view separator) {
  std::vector<value> out;
  for (const auto& m : messages.items()) {
    auto role = message_role(m);
    if (out.empty() || role == "tool" || role != message_role(out.back()))
      out.push_back(m);
    else
      out.back() = without_nulls(joined_pair(out.back(), m, separator));
  }
  return value::list(std::move(out));
}

std::string get_buffer_string(const value& messages, buffer_format format) {
  std::string out;
  for (const auto& m : messages.items()) {
    if (&m != messages.items().data())
      out += '\n';
    out += format == buffer_format::xml ? as_xml(m) : as_line(m);
  }
  return out;
}

value add_usage(const value& left, const value& right) {
  if (left.is_null() || right.is_null())
    return left.is_null() ? right : left;
  if (left.is_int() && right.is_int())
    return left.as_int() + right.as_int();
  if (!left.is_map() || !right.is_map())
    return right;
  auto out = left;
  for (const auto& e : right.entries())
    out = out.with(e.key(), add_usage(left[e.key()], e.val));
  return out;
}

} // namespace troupe
