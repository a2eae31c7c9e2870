// message_json: LangChain's JSON of a message, both ways.
#include "agents/messages/json_text.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using members = std::vector<value::map_init>;

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> classes{{
  {"human", "user"},
  {"ai", "assistant"},
  {"system", "system"},
  {"tool", "tool"},
}};

std::string type_of(std::string_view role, bool chunk) {
  for (auto [type, name] : classes)
    if (name == role) {
      if (!chunk)
        return std::string{type};
      return role == "assistant" ? "AIMessageChunk"
             : role == "user"    ? "HumanMessageChunk"
             : role == "tool"    ? "ToolMessageChunk"
                                 : "SystemMessageChunk";
    }
  return role == "function" ? "function" : "chat";
}

// The class of a constructor form, or the name of a part: "AIMessageChunk" is an `ai`.
struct named_class {
  std::string type;
  bool chunk = false;
};

named_class read_type(std::string name) {
  auto drop_end = [&name](std::string_view end) {
    bool there = name.ends_with(end);
    if (there)
      name.resize(name.size() - end.size());
    return there;
  };
  bool chunk = drop_end("Chunk");
  if (drop_end("Message"))
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c | 0x20); });
  return {name, chunk};
}

const value& or_empty(const value& v, const value& empty) {
  return v.is_null() ? empty : v;
}

value json_call(const value& call, std::string_view type) {
  return call.is_map() ? call.with("type", type) : call;
}

value json_calls(const value& calls, std::string_view type) {
  std::vector<value> out;
  for (const auto& call : calls.items())
    out.push_back(json_call(call, type));
  return value::list(std::move(out));
}

// Members that have another name in the JSON, or follow from the class.
constexpr std::array<std::string_view, 4> renamed{"role", "usage", "chunk", "tool_call_chunks"};

// ---- reading --------------------------------------------------------------------------------

// The elements as they are: coerce_message() decides which are calls.
std::vector<value> plain_calls(const value& calls) {
  std::vector<value> out;
  if (calls.is_null())
    return out;
  auto holder =
    coerce_message(value::map({{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}));
  for (const auto& call : message_tool_calls(holder).items())
    out.push_back(call.with("type", "tool_call"));
  return out;
}

// Calls that stand only in OpenAI's form: {id, function: {name, arguments}}.
void read_openai_calls(const value& calls, std::vector<value>& good, std::vector<value>& bad) {
  for (const auto& call : calls.items()) {
    const auto& function = call["function"];
    if (!function.is_map())
      continue;
    const auto& text = function["arguments"];
    auto args = read_arguments(text_in(text));
    if (args && args->is_map())
      good.push_back(value::map(
        {{"name", function["name"]}, {"args", *args}, {"id", call["id"]}, {"type", "tool_call"}}));
    else
      bad.push_back(value::map({{"name", function["name"]},
                                {"args", text},
                                {"id", call["id"]},
                                {"error", nullptr},
                                {"type", "invalid_tool_call"}}));
  }
}

void add_calls(members& out, const value& given) {
  auto good = plain_calls(given["tool_calls"]);
  std::vector<value> bad(given["invalid_tool_calls"].items().begin(),
                         given["invalid_tool_calls"].items().end());
  if (good.empty() && bad.empty() && given["tool_call_chunks"].empty())
    read_openai_calls(given["additional_kwargs"]["tool_calls"], good, bad);
  if (!good.empty())
    out.emplace_back("tool_calls", value::list(std::move(good)));
  if (!bad.empty())
    out.emplace_back("invalid_tool_calls", value::list(std::move(bad)));
}

// The pieces of calls in a part; a whole call is a piece of its own.
void add_call_chunks(members& out, const value& given) {
  const auto& pieces = given["tool_call_chunks"];
  std::vector<value> whole;
  if (pieces.empty())
    for (const auto& call : plain_calls(given["tool_calls"]))
      whole.push_back(value::map({{"type", "tool_call_chunk"},
                                  {"name", call["name"]},
                                  {"args", spaced_json(call["args"])},
                                  {"id", call["id"]},
                                  {"index", nullptr}}));
  if (!pieces.empty() || !whole.empty())
    out.emplace_back("tool_call_chunks", pieces.empty() ? value::list(std::move(whole)) : pieces);
}

bool says_something(const value& v) {
  return !v.is_null() && !((v.is_list() || v.is_map()) && v.empty());
}

constexpr std::array<std::string_view, 5> read_apart{"type", "role", "content", "usage_metadata",
                                                     "chunk"};
constexpr std::array<std::string_view, 3> of_answers{"tool_calls", "invalid_tool_calls",
                                                     "tool_call_chunks"};

// Whether a member is kept unchanged: not null, and not one that every message has.
bool is_further(const detail::map_entry& e, std::string_view role) {
  if (e.val.is_null() || std::ranges::find(read_apart, e.key()) != read_apart.end())
    return false;
  if (e.key() == "additional_kwargs" || e.key() == "response_metadata")
    return !e.val.empty();
  if (e.key() == "status")
    return e.val != value("success");
  if (e.key() == "example")
    return e.val != value(false);
  return role != "assistant" || std::ranges::find(of_answers, e.key()) == of_answers.end();
}

value text_id(const value& id) {
  return id.is_int() ? value(std::to_string(id.as_int())) : id;
}

value from_flat(const value& given, const named_class& named, std::string_view role) {
  auto content = or_empty(given["content"], "");
  if (role == "tool" && !content.is_string() && !content.is_list())
    content = to_json(content); // as coerce_message() does
  members out{{"role", role}, {"content", content}};
  if (named.chunk)
    out.emplace_back("chunk", true);
  if (named.chunk && role == "assistant")
    add_call_chunks(out, given);
  if (named.type == "chat")
    out.emplace_back("type", "chat");
  if (role == "assistant" && !named.chunk)
    add_calls(out, given);
  if (says_something(given["usage_metadata"]))
    out.emplace_back("usage", given["usage_metadata"]);
  for (const auto& e : given.entries())
    if (is_further(e, role))
      out.emplace_back(std::string{e.key()}, e.key().ends_with("id") ? text_id(e.val) : e.val);
  return value::extension(value_kind::message, value::map(std::move(out)));
}

// The message, when a map is LangChain's flat form of a class.
std::optional<value> read_flat(const value& given, const std::string& name) {
  auto named = read_type(name);
  if (named.type == "remove")
    return remove_message(text_id(given["id"]).as<std::string>());
  for (auto [type, role] : classes)
    if (type == named.type)
      return from_flat(given, named, role);
  if (named.type == "chat" && given["role"].is_string())
    return from_flat(given, named, given["role"].as_string());
  if (named.type == "function")
    return from_flat(given, named, "function");
  return std::nullopt;
}

value read_constructor(const value& given) {
  const auto& path = given["id"];
  const auto& name = path[path.size() - 1];
  if (auto out = read_flat(given["kwargs"], name.is_string() ? name.as<std::string>() : ""))
    return *out;
  throw error{errc::invalid_update, "read a message: not a class of messages: " + to_json(path),
              "ValueError"};
}

} // namespace

value message_to_json(const value& message) {
  if (message.is(value_kind::remove_message))
    return value::map({{"type", "remove"},
                       {"content", ""},
                       {"id", message.payload()},
                       {"name", nullptr},
                       {"additional_kwargs", value::map()},
                       {"response_metadata", value::map()}});
  if (!is_message(message))
    throw error{errc::invalid_value, "write a message: not a message: " + to_json(message)};
  const auto& m = message.payload();
  auto role = message_role(message);
  bool chunk = m["chunk"] == value(true);
  auto type = type_of(role, chunk);
  members out{{"type", type},
              {"content", m["content"]},
              {"additional_kwargs", or_empty(m["additional_kwargs"], value::map())},
              {"response_metadata", or_empty(m["response_metadata"], value::map())},
              {"name", m["name"]},
              {"id", m["id"]}};
  for (const auto& e : m.entries()) // further members are kept
    if (std::ranges::find(renamed, e.key()) == renamed.end()
        && std::ranges::find(out, e.key(), &value::map_init::first) == out.end())
      out.emplace_back(std::string{e.key()}, e.val);
  if (role == "assistant") {
    out.emplace_back("tool_calls", json_calls(m["tool_calls"], "tool_call"));
    out.emplace_back("invalid_tool_calls",
                     json_calls(m["invalid_tool_calls"], "invalid_tool_call"));
    out.emplace_back("usage_metadata", m["usage"]);
    if (chunk) {
      out.emplace_back("tool_call_chunks", json_calls(m["tool_call_chunks"], "tool_call_chunk"));
      out.emplace_back("chunk_position", m["chunk_position"]);
    }
  } else if (role == "tool") {
    out.emplace_back("tool_call_id", m["tool_call_id"]);
    out.emplace_back("artifact", m["artifact"]);
    out.emplace_back("status", or_empty(m["status"], "success"));
  } else if (type == "chat") {
    out.emplace_back("role", role);
  }
  return value::map(std::move(out));
}

value message_from_json(const value& json) {
  if (!json.is_map())
    return coerce_message(json);
  if (json["type"] == value("constructor") && json["kwargs"].is_map())
    return read_constructor(json);
  const auto& type = json["type"];
  if (type.is_string() && json["role"].is_null() && json["data"].is_map()
      && !json.contains("content"))
    return message_from_json(json["data"].with("type", type));
  if (type.is_string() && (json["role"].is_null() || type == value("chat")))
    if (auto out = read_flat(json, type.as<std::string>()))
      return *out;
  return coerce_message(json);
}

} // namespace troupe
