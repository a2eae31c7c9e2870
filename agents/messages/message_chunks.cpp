// message_chunks: adding up the parts of an answer.
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace troupe {
namespace {

using members = std::vector<value::map_init>;

constexpr std::string_view run_id = "lc_run-"; // ids that a run made
constexpr std::string_view own_id = "lc_";     // and other ids that are not a provider's

bool is_own_index(const value& index) {
  return index.is_string() && index.as_string().starts_with(own_id);
}

// ---- maps and lists -------------------------------------------------------------------------

value merge_maps(const value& left, const value& right);
value merge_lists(const value& left, const value& right);

template <std::size_t N>
bool one_of(std::string_view key, const std::array<std::string_view, N>& keys) {
  return std::ranges::find(keys, key) != keys.end();
}

constexpr std::array<std::string_view, 3> kept{"id", "output_version", "model_provider"};
constexpr std::array<std::string_view, 3> replaced{"index", "created", "timestamp"};

value merge_member(std::string_view key, const value& left, const value& right) {
  if (left.is_null() || right.is_null())
    return right.is_null() ? left : right;
  if (left.kind() != right.kind())
    throw error{errc::invalid_value,
                "additional_kwargs[\"" + std::string{key}
                  + "\"] already exists in this message, but with a different type.",
                "TypeError"};
  if (left.is_string()) {
    bool same = left == right && (one_of(key, kept) || (key == "index" && is_own_index(left)));
    return same ? left : value(left.as<std::string>() + right.as<std::string>());
  }
  if (left.is_map())
    return merge_maps(left, right);
  if (left.is_list())
    return merge_lists(left, right);
  if (left == right && !left.is_int())
    return left;
  if (left.is_int())
    return one_of(key, replaced) ? right : value(left.as_int() + right.as_int());
  throw error{errc::invalid_value,
              "add parts of a message: two values of `" + std::string{key} + "`: " + to_json(left)
                + ", " + to_json(right),
              "TypeError"};
}

value merge_maps(const value& left, const value& right) {
  auto out = left;
  for (const auto& e : right.entries())
    out = out.with(e.key(), merge_member(e.key(), left[e.key()], e.val));
  return out;
}

bool says_nothing(const value& v) {
  return v.is_null() || (v.is_string() && v.empty());
}

// Whether two elements are pieces of the same one.
bool continues(const value& left, const value& right) {
  const auto& index = right["index"];
  if (!index.is_int() && !is_own_index(index))
    return false;
  return left["index"] == index
         && (left["id"] == right["id"] || says_nothing(left["id"]) || says_nothing(right["id"]));
}

value merge_lists(const value& left, const value& right) {
  std::vector<value> out(left.items().begin(), left.items().end());
  for (const auto& item : right.items()) {
    auto at = std::ranges::find_if(out, [&item](const value& before) {
      return before.is_map() && continues(before, item);
    });
    if (at == out.end())
      out.push_back(item);
    else
      *at = merge_maps(*at, item.without("type").without("index"));
  }
  return value::list(std::move(out));
}

// ---- members --------------------------------------------------------------------------------

value merge_content(const value& left, const value& right) {
  if (left.is_string() && right.is_string())
    return left.as<std::string>() + right.as<std::string>();
  if (left.is_list() && right.is_list())
    return merge_lists(left, right);
  if (right.is_list()) {
    std::vector<value> out{left};
    out.insert(out.end(), right.items().begin(), right.items().end());
    return value::list(std::move(out));
  }
  if (!left.is_list() || right.empty())
    return left;
  if (left.empty() || !left[left.size() - 1].is_string())
    return left.append(right);
  std::vector<value> out(left.items().begin(), left.items().end());
  out.back() = out.back().as<std::string>() + right.as<std::string>();
  return value::list(std::move(out));
}

// The id that a provider gave, else the first run's, else the first.
value choose_id(const value& left, const value& right) {
  auto rank = [](const value& id) {
    if (says_nothing(id) || !id.is_string())
      return 0;
    auto text = id.as_string();
    return text.starts_with(run_id) ? 2 : text.starts_with(own_id) ? 1 : 3;
  };
  return rank(right) > rank(left) ? right : left;
}

void put(members& out, std::string_view name, value v) {
  if (!v.is_null() && !((v.is_list() || v.is_map()) && v.empty()))
    out.emplace_back(std::string{name}, std::move(v));
}

// ---- whole messages -------------------------------------------------------------------------

bool is_text(const value& chunk) {
  return message_member(chunk, "content").is_string();
}

// Whether a part adds only text to `sum`.
bool only_text(const value& chunk, const value& sum) {
  return std::ranges::all_of(chunk.payload().entries(), [&sum](const detail::map_entry& e) {
    return e.key() == "role" || e.key() == "content" || e.key() == "chunk" || e.val.is_null()
           || (e.key() == "id" && e.val == message_member(sum, "id"));
  });
}

// The content of the parts as one text, joined in one pass.
std::string joined_text(std::span<const value> chunks) {
  std::string out;
  for (const auto& chunk : chunks)
    out += message_member(chunk, "content").as_string();
  return out;
}

// Arguments that were cut off are not a map, so that they are never used.
value read_args(const value& text) {
  if (!text.is_string())
    return text.is_null() ? value::map() : text;
  auto args = read_arguments(text.as_string());
  return args ? *args : value{};
}

void read_calls(const value& parts, members& out) {
  std::vector<value> good;
  std::vector<value> bad;
  for (const auto& part : parts.items()) {
    auto args = read_args(part["args"]);
    bool fits = args.is_map();
    members call{{"id", part["id"]},
                 {"name", part["name"].is_null() ? value("") : part["name"]},
                 {"type", fits ? "tool_call" : "invalid_tool_call"},
                 {"args", fits ? args : part["args"]}};
    if (!part["extras"].is_null())
      call.emplace_back("extras", part["extras"]);
    if (!fits)
      call.emplace_back("error", nullptr);
    (fits ? good : bad).push_back(value::map(std::move(call)));
  }
  put(out, "tool_calls", value::list(std::move(good)));
  put(out, "invalid_tool_calls", value::list(std::move(bad)));
}

value whole(const value& chunk) {
  members out;
  for (const auto& e : chunk.payload().entries())
    if (e.key() != "chunk" && e.key() != "chunk_position" && e.key() != "tool_call_chunks")
      out.emplace_back(std::string{e.key()}, e.val);
  read_calls(message_member(chunk, "tool_call_chunks"), out);
  return value::extension(value_kind::message, value::map(std::move(out)));
}

} // namespace

value add_chunks(const value& left, const value& right) {
  const auto& a = left.payload();
  const auto& b = right.payload();
  if (message_role(left) == "tool" && a["tool_call_id"] != b["tool_call_id"])
    throw error{errc::invalid_value, "Cannot concatenate ToolMessageChunks with different names.",
                "ValueError"};
  members out;
  for (const auto* side : {&a, &b}) // of members without a rule of their own, the later one counts
    for (const auto& e : side->entries())
      put(out, e.key(), e.val);
  out.emplace_back("content", merge_content(a["content"], b["content"]));
  for (const auto* name : {"additional_kwargs", "response_metadata", "artifact"})
    put(out, name, merge_member(name, a[name], b[name]));
  for (const auto* name : {"tool_call_chunks", "tool_calls", "invalid_tool_calls"})
    if (!a[name].is_null() && !b[name].is_null())
      put(out, name, merge_lists(a[name], b[name]));
  put(out, "usage", add_usage(a["usage"], b["usage"]));
  put(out, "id", choose_id(a["id"], b["id"]));
  if (a["status"] == value("error"))
    out.emplace_back("status", "error");
  return value::extension(value_kind::message, value::map(std::move(out)));
}

value join_chunks(std::span<const value> chunks) {
  if (chunks.empty())
    throw error{errc::invalid_value, "join parts of a message: the list is empty"};
  bool texts = std::ranges::all_of(chunks, is_text);
  auto bare = [texts](const value& chunk) {
    return texts ? value::extension(value_kind::message, chunk.payload().with("content", ""))
                 : chunk;
  };
  auto sum = bare(chunks.front());
  for (const auto& chunk : chunks.subspan(1))
    if (!texts || !only_text(chunk, sum))
      sum = add_chunks(sum, bare(chunk));
  if (texts)
    sum = value::extension(value_kind::message,
                           sum.payload().with("content", value(joined_text(chunks))));
  return whole(sum);
}

} // namespace troupe
