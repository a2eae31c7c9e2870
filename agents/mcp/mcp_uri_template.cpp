// mcp_uri_template: checking templates, and matching URIs.
#include "agents/mcp/mcp_uri_template.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t parts_max = 64;

// A variable part and the text after it, up to the next part.
struct uri_part {
  std::string_view name;
  bool takes_any = false; // else no `/`, `?` and `#`
  std::string_view after;
};

struct uri_pattern {
  std::string_view before; // the first part
  std::vector<uri_part> parts;
};

std::optional<uri_pattern> pattern_of(std::string_view text) {
  uri_pattern out;
  auto at = text.find('{');
  out.before = text.substr(0, at);
  while (at < text.size()) {
    auto end = text.find('}', at);
    if (end == text.npos || out.parts.size() == parts_max)
      return std::nullopt;
    auto next = std::min(text.find('{', end), text.size());
    uri_part part{.name = text.substr(at + 1, end - at - 1),
                  .after = text.substr(end + 1, next - end - 1)};
    part.takes_any = part.name.starts_with('+');
    part.name.remove_prefix(part.takes_any ? 1 : 0);
    bool follows_directly = part.after.empty() && next < text.size();
    if (part.name.empty() || part.name.find('{') != part.name.npos || follows_directly)
      return std::nullopt;
    out.parts.push_back(part);
    at = next;
  }
  bool stray = out.before.find('}') != out.before.npos
               || std::ranges::any_of(out.parts, [](const auto& p) {
                    return p.after.find('}') != p.after.npos;
                  });
  return stray ? std::nullopt : std::optional{std::move(out)};
}

} // namespace

result<void> check_uri_template(std::string_view text) {
  if (pattern_of(text))
    return {};
  return error{errc::invalid_config,
               "not a template that is supported: `" + std::string{text.substr(0, 200)}
                 + "`: parts are {name} or {+name}, with other text between them"};
}

std::optional<value> match_uri_template(std::string_view text, std::string_view uri) {
  auto pattern = pattern_of(text);
  if (!pattern || !uri.starts_with(pattern->before))
    return std::nullopt;
  uri.remove_prefix(pattern->before.size());
  auto found = value::map();
  for (std::size_t i = 0; i < pattern->parts.size(); ++i) {
    const auto& part = pattern->parts[i];
    bool is_last = i + 1 == pattern->parts.size();
    auto length = uri.npos;
    if (!is_last)
      length = uri.empty() ? uri.npos : uri.find(part.after, 1);
    else if (uri.size() > part.after.size() && uri.ends_with(part.after))
      length = uri.size() - part.after.size();
    if (length == uri.npos || length == 0)
      return std::nullopt;
    auto taken = uri.substr(0, length);
    if (!part.takes_any && taken.find_first_of("/?#") != taken.npos)
      return std::nullopt;
    found = found.with(part.name, taken);
    uri.remove_prefix(length + part.after.size());
  }
  return uri.empty() ? std::optional{std::move(found)} : std::nullopt;
}

} // namespace troupe
