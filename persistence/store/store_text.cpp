// store_text: parsing paths and collecting texts. Recursion is bounded by the path's steps.
#include "persistence/store/store_text.hpp"

#include <troupe/limits.hpp>

#include <charconv>
#include <span>

namespace troupe {

namespace {

using steps = std::span<const std::string>;

error no_path(std::string_view path, std::string_view why) {
  std::string text{"index the store: "};
  text.append(why).append(": `").append(path.substr(0, 100)).append("`");
  return {errc::invalid_value, std::move(text)};
}

std::string_view trimmed(std::string_view text) {
  auto begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string_view inside(std::string_view step) {
  return step.substr(1, step.size() - 2);
}

std::optional<std::int64_t> parse_index(std::string_view digits) {
  std::int64_t n = 0;
  auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (failed != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return n;
}

// The members named between braces, each a path of names.
std::vector<std::string_view> members_of(std::string_view list) {
  std::vector<std::string_view> members;
  for (std::size_t at = 0; at <= list.size();) {
    auto comma = std::min(list.find(',', at), list.size());
    if (auto member = trimmed(list.substr(at, comma - at)); !member.empty())
      members.push_back(member);
    at = comma + 1;
  }
  return members;
}

const value& member_at(const value& v, std::string_view names) {
  const auto* at = &v;
  while (!names.empty()) {
    auto dot = std::min(names.find('.'), names.size());
    if (dot != 0)
      at = &(*at)[names.substr(0, dot)];
    names.remove_prefix(std::min(dot + 1, names.size()));
  }
  return *at;
}

void take_text(const value& v, std::vector<std::string>& out) {
  if (v.is_string())
    out.emplace_back(v.as_string());
  else if (!v.is_null())
    out.push_back(to_json(v));
}

void take_texts(const value& v, steps path, std::vector<std::string>& out) {
  if (path.empty())
    return take_text(v, out);
  const std::string_view step = path.front();
  auto rest = path.subspan(1);
  if (step == "*" || step == "[*]") {
    for (const auto& item : v.items())
      take_texts(item, rest, out);
    if (step == "*")
      for (const auto& e : v.entries())
        take_texts(e.val, rest, out);
  } else if (step.starts_with('[')) {
    auto at = *parse_index(inside(step));
    if (at < 0)
      at += static_cast<std::int64_t>(v.items().size());
    if (at >= 0 && static_cast<std::size_t>(at) < v.items().size())
      take_texts(v.items()[static_cast<std::size_t>(at)], rest, out);
  } else if (step.starts_with('{')) {
    for (auto member : members_of(inside(step))) // a selection ends the path, as in the reference
      take_text(member_at(v, member), out);
  } else if (v.contains(step)) {
    take_texts(v[step], rest, out);
  }
}

result<void> check_step(std::string_view step, std::string_view path) {
  if (step.starts_with('[') && inside(step) != "*" && !parse_index(inside(step)))
    return no_path(path, "[] must hold `*` or a number");
  if (step.starts_with('{') && members_of(inside(step)).empty())
    return no_path(path, "{} must hold a name");
  return {};
}

} // namespace

result<std::vector<std::string>> text_path(std::string_view path) {
  if (path.size() > limits::store_index_path_bytes_max)
    return no_path(path, "the path is longer than "
                           + std::to_string(limits::store_index_path_bytes_max) + " bytes");
  std::vector<std::string> found;
  for (std::size_t at = 0; at < path.size() && path != "$";) {
    if (path[at] == '.') {
      ++at;
      continue;
    }
    auto opens = path[at] == '[' || path[at] == '{';
    auto end = opens ? path.find(path[at] == '[' ? ']' : '}', at) : path.find_first_of(".[{", at);
    if (opens && end == path.npos)
      return no_path(path, "a bracket is not closed");
    end = opens ? end + 1 : std::min(end, path.size());
    auto step = path.substr(at, end - at);
    if (auto ok = check_step(step, path); !ok)
      return ok.error();
    found.emplace_back(step);
    at = end;
  }
  return found;
}

std::vector<std::string> texts_at(const value& v, const std::vector<std::string>& path) {
  std::vector<std::string> out;
  take_texts(v, path, out);
  return out;
}

} // namespace troupe
