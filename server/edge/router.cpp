// router: matching paths segment by segment.
#include "server/edge/router.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe::server {
namespace {

// Takes the first segment, and the slash before it, off the path.
std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);
  auto segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

// A decoded segment. An empty one, one with a NUL or one that is not UTF-8 names nothing.
std::optional<std::string> parameter_of(std::string_view segment) {
  auto text = percent_decoded(segment);
  if (!text || text->empty() || !is_utf8(*text) || text->find('\0') != text->npos)
    return std::nullopt;
  return text;
}

std::optional<std::vector<std::string>> match_pattern(std::string_view pattern,
                                                      std::string_view path) {
  std::vector<std::string> out;
  while (!pattern.empty() && !path.empty()) {
    auto wanted = next_segment(pattern);
    auto given = next_segment(path);
    if (!wanted.starts_with('{')) {
      if (percent_decoded(given) != wanted)
        return std::nullopt;
      continue;
    }
    auto text = parameter_of(given);
    if (!text)
      return std::nullopt;
    out.push_back(std::move(*text));
  }
  return pattern.empty() && path.empty() ? std::optional{std::move(out)} : std::nullopt;
}

// The name of `{name}`; `{id}` is that of the resource: of "threads", thread_id.
std::string parameter_name(std::string_view segment, std::string_view resource) {
  auto name = segment.substr(1, segment.size() - 2);
  if (name != "id" || !resource.ends_with('s'))
    return std::string{name};
  return std::string{resource.substr(0, resource.size() - 1)} + "_id";
}

bool takes_method(const route& one, std::string_view method) {
  return one.method == method || (one.method == "GET" && method == "HEAD");
}

} // namespace

value asked_members(const route& found, const api_call& call) {
  auto read = from_json(call.request.body, json_form::plain);
  auto out = call.request.body.empty() ? call.query.members() : read ? *read : value{};
  if (!out.is_map())
    return out;
  auto parameter = call.parameters.begin();
  for (auto rest = found.pattern; !rest.empty() && parameter != call.parameters.end();)
    if (auto segment = next_segment(rest); segment.starts_with('{'))
      out = out.with(parameter_name(segment, found.access.resource), *parameter++);
  return out;
}

void router::add(route one) {
  // Before the patterns with a parameter at the place of its first fixed segment.
  auto is_more_exact = [&one](const route& other) {
    auto a = one.pattern, b = other.pattern;
    while (!a.empty() && !b.empty()) {
      auto x = next_segment(a), y = next_segment(b);
      if (x.starts_with('{') != y.starts_with('{'))
        return y.starts_with('{');
    }
    return false;
  };
  routes_.insert(std::ranges::find_if(routes_, is_more_exact), std::move(one));
}

std::variant<route_match, no_route> router::match(std::string_view method,
                                                  std::string_view path) const {
  no_route no{404};
  if (!path.starts_with('/'))
    return no;
  for (const auto& one : routes_) {
    auto parameters = match_pattern(one.pattern, path);
    if (parameters && takes_method(one, method))
      return route_match{&one, std::move(*parameters)};
    if (parameters)
      no = {405, no.allow + (no.allow.empty() ? "" : ", ") + std::string{one.method}};
  }
  if (no.status == 404 && path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
    if (std::ranges::any_of(routes_, [path](const route& one) {
          return match_pattern(one.pattern, path).has_value();
        }))
      no.status = 307;
  }
  return no;
}

} // namespace troupe::server
