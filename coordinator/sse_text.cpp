// to_sse: parts of a stream as server-sent events.
#include "coordinator/sse_text.hpp"

#include <troupe/run_stream.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace troupe {

namespace {

using json_members = std::vector<value::map_init>;

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> class_names{
  {{"user", "human"}, {"assistant", "ai"}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> chunk_class_names{
  {{"user", "HumanMessageChunk"},
   {"assistant", "AIMessageChunk"},
   {"system", "SystemMessageChunk"},
   {"tool", "ToolMessageChunk"}}};

template <class Table> std::string_view class_of(const Table& table, std::string_view role) {
  auto at = std::ranges::find(table, role, &Table::value_type::first);
  return at == table.end() ? role : at->second;
}

value plain(const value& v);

value plain_message(const value& m) {
  bool chunk = m["chunk"] == value(true);
  auto role = m["role"].is_string() ? m["role"].as_string() : std::string_view{};
  json_members out{
    {"type", chunk ? class_of(chunk_class_names, role) : class_of(class_names, role)}};
  for (const auto& e : m.entries())
    if (e.key() != "role" && e.key() != "chunk" && e.key() != "type")
      out.emplace_back(e.key() == "usage" ? "usage_metadata" : std::string{e.key()}, plain(e.val));
  return value::map(std::move(out));
}

value plain_map(const value& v) {
  json_members out;
  for (const auto& e : v.entries())
    out.emplace_back(std::string{e.key()}, plain(e.val));
  return value::map(std::move(out));
}

value plain_list(const value& v) {
  std::vector<value> out;
  for (const auto& item : v.items())
    out.push_back(plain(item));
  return value::list(std::move(out));
}

value plain(const value& v) {
  switch (v.kind()) {
    case value_kind::list: return plain_list(v);
    case value_kind::map: return plain_map(v);
    case value_kind::message: return plain_message(v.payload());
    case value_kind::interrupt:
      return value::map({{"value", plain(v.payload()["value"])}, {"id", v.payload()["id"]}});
    case value_kind::error:
      return value::map({{"error", v.payload()["type"]}, {"message", v.payload()["message"]}});
    case value_kind::remove_message:
      return value::map({{"type", "remove"}, {"id", v.payload()}, {"content", ""}});
    default: return v;
  }
}

// A name in one line.
std::string line_of(std::string_view name) {
  std::string out{name};
  std::ranges::replace_if(
    out, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return out;
}

} // namespace

value client_form(const value& v) {
  return plain(v);
}

std::string to_sse(const stream_part& part) {
  std::string out{"event: "};
  out.append(to_string(part.mode));
  for (const auto& ns : part.ns)
    out.append("|").append(line_of(ns));
  out.append("\ndata: ").append(to_json(plain(part.data)));
  return out.append("\nid: ").append(std::to_string(part.seq)).append("\n\n");
}

std::string to_sse(const error& why) {
  auto data = value::map(
    {{"error", why.type().empty() ? std::string{to_string(why.code())} : std::string{why.type()}},
     {"message", why.message()}});
  return "event: error\ndata: " + to_json(data) + "\n\n";
}

} // namespace troupe
