// Output of programs with --json: one object a line, distinguished by "type", flushed at once.
#pragma once

#include <troupe/runtime.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::cli {

/// Order: `members` as they are; each is a name and its JSON text.
inline std::string json_line(std::string_view type,
                             const std::vector<std::pair<std::string_view, std::string>>& members) {
  std::string out = "{\"type\":" + to_json(type);
  for (const auto& [name, text] : members)
    out += "," + to_json(name) + ":" + text;
  return out + "}";
}

/// The part's data is not wrapped in a value: that would make it one level deeper.
inline std::string json_line(const stream_part& part) {
  return json_line(to_string(part.mode), {{"ns", to_json(value::of(part.ns))},
                                          {"seq", std::to_string(part.seq)},
                                          {"data", to_json(part.data)}});
}

inline value to_value(const std::vector<interrupt>& questions) {
  std::vector<value> out;
  for (const auto& q : questions) {
    auto entry = value::map({{"id", q.id}, {"value", q.value}});
    out.push_back(q.response_schema.is_null() ? entry
                                              : entry.with("response_schema", q.response_schema));
  }
  return value::list(std::move(out));
}

inline value to_value(const std::vector<actor_info>& actors) {
  std::vector<value> out;
  for (const auto& a : actors)
    out.push_back(value::map({{"kind", a.kind},
                              {"name", a.name},
                              {"state", a.state},
                              {"mailbox", a.mailbox},
                              {"host", a.host},
                              {"thread", a.thread_id}}));
  return value::list(std::move(out));
}

inline std::string json_line(const error& why) {
  std::vector<std::pair<std::string_view, std::string>> members{
    {"code", to_json(to_string(why.code()))}, {"message", to_json(why.message())}};
  if (!why.details().is_null())
    members.emplace_back("details", to_json(why.details()));
  return json_line("error", members);
}

inline void print_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

} // namespace troupe::cli
