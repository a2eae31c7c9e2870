// Message forms: converting each of them into the one that is kept.
#include "channels/message_forms.hpp"

#include "graph/list_ids.hpp"
#include "graph/task_id.hpp"
#include "graph/value_node.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

error no_message(std::string text) {
  return refused_message(std::move(text));
}

// ---- roles and ids --------------------------------------------------------------------------

// The role that a name stands for; empty for an unknown name.
std::string_view find_role(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> roles[] = {
    {"user", "user"},    {"human", "user"},    {"assistant", "assistant"},
    {"ai", "assistant"}, {"system", "system"}, {"developer", "system"},
    {"tool", "tool"},    {"remove", "remove"}, {"function", "function"},
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
                     + "'. Use one of 'human', 'user', 'ai', 'assistant', 'function', 'tool', "
                       "'system', or 'developer'.");
  return role;
}

std::string random_id() {
  std::array<std::uint64_t, 2> random{};
  if (::getentropy(random.data(), sizeof random) != 0)
    throw error{errc::invalid_update, "make a message id: the system returned no random bytes"};
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

// Arguments given as text; null or an empty text means no arguments.
result<value> read_arguments(const value& text) {
  if (text.is_null() || (text.is_string() && text.empty()))
    return value::map();
  return text.is_string() ? from_json(text.as_string(), json_form::plain) : result<value>{text};
}

// A call in OpenAI's form, {id, function: {name, arguments: JSON text}}, turned into the plain
// form.
value plain_tool_call(const value& call) {
  const auto& function = call["function"];
  auto args = function.is_map() ? read_arguments(function["arguments"])
                                : result<value>{call["args"]};
  if (!args)
    throw refused_message("read a tool call: its arguments: " + args.error().message());
  const auto& name = (function.is_map() ? function : call)["name"];
  if (!args->is_map() || !name.is_string())
    throw refused_message(
      "read a tool call: its name is missing, or its arguments are not an object: "
      + to_json(call));
  return function.is_map() ? value::map({{"name", name}, {"args", *args}, {"id", call["id"]}})
                           : call;
}

value plain_tool_calls(const value& calls) {
  if (!calls.is_list())
    throw refused_message("read tool calls: not a list: " + to_json(calls));
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

// A member under the name and in the form that a kept message has.
value::map_init plain_member(std::string_view key, const value& v, std::string_view role) {
  if (key == "content")
    return {"content", plain_content(v, role)};
  if (key == "id" || key == "tool_call_id")
    return {std::string{key}, text_id(v)};
  if (key == "tool_calls")
    return {"tool_calls", plain_tool_calls(v)};
  if (key == "usage_metadata")
    return {"usage", v};
  return {std::string{key}, v};
}

// Whether a member stays. Dropped are
// - `role` and `type`, which name the role
// - `chunk`, since a part is kept as a whole message
// - null, empty calls and `example` false
bool is_kept(const detail::map_entry& e) {
  if (e.key() == "role" || e.key() == "type" || e.key() == "chunk")
    return false;
  if (e.key() == "example")
    return e.val != value(false);
  return e.key() == "content" || !(e.val.is_null() || (e.key() == "tool_calls" && e.val.empty()));
}

// ---- ids that are looked for ------------------------------------------------------------------

// The fingerprints of the ids of an update.
class sought_ids {
public:
  explicit sought_ids(std::span<const value> update) {
    prints_.reserve(update.size());
    for (const auto& message : update)
      if (auto print = value_access::id_fingerprint(message); print != 0) {
        prints_.push_back(print);
        low_bits_[print / 64 % 4] |= std::uint64_t{1} << print % 64;
      }
    std::ranges::sort(prints_);
  }
  bool may_have(const value& message) const {
    auto print = value_access::id_fingerprint(message);
    return (low_bits_[print / 64 % 4] >> print % 64 & 1) != 0
           && std::ranges::binary_search(prints_, print);
  }

private:
  std::array<std::uint64_t, 4> low_bits_{}; // the set of their lowest 8 bits
  std::vector<std::uint64_t> prints_;
};

// ---- forms ----------------------------------------------------------------------------------

// The calls that the pieces add up to. A call that was cut off is kept as an invalid one.
value with_whole_calls(value message, const value& pieces) {
  auto good = value::list();
  auto bad = value::list();
  for (const auto& piece : pieces.items()) {
    auto args = read_arguments(piece["args"]);
    bool fits = args && args->is_map() && piece["name"].is_string();
    auto call = value::map({{"name", piece["name"]},
                            {"args", fits ? *args : piece["args"]},
                            {"id", piece["id"]},
                            {"type", fits ? "tool_call" : "invalid_tool_call"}});
    if (fits)
      good = good.append(call);
    else
      bad = bad.append(call.with("error", nullptr));
  }
  if (!good.empty())
    message = message.with("tool_calls", good);
  return bad.empty() ? message : message.with("invalid_tool_calls", bad);
}

// A part of an answer as a whole message, with its calls.
value whole_message(const value& message) {
  if (message["chunk"].is_null())
    return message;
  auto out = message.without("chunk").without("chunk_position").without("tool_call_chunks");
  bool has_calls = !message["tool_calls"].empty() || !message["invalid_tool_calls"].empty();
  return has_calls ? out : with_whole_calls(std::move(out), message["tool_call_chunks"]);
}

// `{{"user", "a"}, {"assistant", "b"}}` in braces is a map, so the order of the messages is lost.
bool lists_roles(const value& given) {
  return given.size() > 1 && std::ranges::all_of(given.entries(), [](const auto& e) {
           return !find_role(e.key()).empty();
         });
}

value from_members(const value& given) {
  const auto& name = given[given["role"].is_null() ? "type" : "role"];
  if (lists_roles(given))
    throw no_message("several messages in braces are a map in C++: write troupe::value::list({"
                     "value::list({\"user\", \"hi\"}), …}), or human_message(…): "
                     + to_json(given));
  if (name.is_null() || !given.contains("content"))
    throw no_message("A map that is a message must contain 'role' and 'content' keys, got "
                     + to_json(given));
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

// `{"user", "hi"}` in braces is a map with one member: the C++ form of the pair.
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

std::vector<std::size_t> possible_places(const value& list, std::span<const value> update) {
  std::vector<std::size_t> places;
  if (detail::list_ids ids{list}) {
    for (const auto& m : update)
      if (auto at = ids.place(value_access::id_fingerprint(m)); at != detail::list_ids::nowhere)
        places.push_back(at);
    std::ranges::sort(places);
    return places;
  }
  sought_ids sought{update};
  auto all = list.items();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (sought.may_have(all[i]))
      places.push_back(i);
  return places;
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
