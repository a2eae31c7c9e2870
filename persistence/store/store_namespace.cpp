// store_namespace: checking, encoding and listing namespaces.
#include "persistence/store/store_namespace.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

error refused_key(std::string_view what) {
  std::string text{"put into the store: "};
  return {errc::invalid_value, text.append(what), "InvalidNamespaceError"};
}

bool part_fits(const std::string& pattern, const std::string& part) {
  return pattern == "*" || part == pattern;
}

} // namespace

result<void> check_store_namespace(const store_namespace& space) {
  if (space.empty())
    return refused_key("the namespace is empty");
  if (space.size() > limits::store_namespace_parts_max)
    return refused_key("the namespace has more than "
                       + std::to_string(limits::store_namespace_parts_max) + " parts");
  std::size_t size = 0;
  for (const auto& part : space)
    size += part.size() + 1;
  if (size > limits::store_namespace_bytes_max)
    return refused_key("the namespace is longer than "
                       + std::to_string(limits::store_namespace_bytes_max) + " bytes");
  for (const auto& part : space) {
    if (part.empty())
      return refused_key("the namespace has an empty part");
    if (part.find('.') != std::string::npos)
      return refused_key("a part of the namespace has a dot: `" + part + "`");
  }
  if (space.front() == "langgraph")
    return refused_key("the namespace begins with a reserved part: `langgraph`");
  return {};
}

std::string namespace_bytes(const store_namespace& space) {
  std::string out;
  for (const auto& part : space) {
    for (auto c : part) {
      out.push_back(c);
      if (c == '\0')
        out.push_back('\xff');
    }
    out.append("\0\1", 2);
  }
  return out;
}

std::optional<store_namespace> namespace_of_bytes(std::string_view bytes) {
  store_namespace space;
  std::string part;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '\0') {
      part.push_back(bytes[i]);
      continue;
    }
    auto mark = ++i < bytes.size() ? bytes[i] : '\0';
    if (mark == '\xff')
      part.push_back('\0');
    else if (mark == '\1')
      space.push_back(std::exchange(part, {}));
    else
      return std::nullopt;
  }
  return part.empty() && !space.empty() ? std::optional{std::move(space)} : std::nullopt;
}

std::string namespace_bytes_end(std::string prefix) {
  if (prefix.empty())
    return std::string(limits::store_namespace_bytes_max + 1, '\xff');
  prefix.back() = '\2'; // instead of the 1 that ends a part
  return prefix;
}

bool fits(const store_namespace& space, const namespace_query& query) {
  const auto& prefix = query.prefix;
  const auto& suffix = query.suffix;
  return prefix.size() <= space.size() && suffix.size() <= space.size()
         && std::equal(prefix.begin(), prefix.end(), space.begin(), part_fits)
         && std::equal(suffix.rbegin(), suffix.rend(), space.rbegin(), part_fits);
}

void namespace_listing::take(const store_namespace& space) {
  if (is_full() || !fits(space, query_))
    return;
  auto depth = std::min(space.size(), query_.max_depth.value_or(space.size()));
  store_namespace cut(space.begin(), space.begin() + static_cast<std::ptrdiff_t>(depth));
  if (has_last_ && cut == last_)
    return;
  last_ = std::move(cut);
  has_last_ = true;
  if (skipped_ < query_.offset)
    ++skipped_;
  else
    found_.push_back(last_);
}

} // namespace troupe
