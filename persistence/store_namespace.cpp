#include "persistence/store_namespace.hpp"

#include <algorithm>
#include <string_view>

namespace troupe {

namespace {

error refused(std::string_view what) {
  std::string text{"put into the store: "};
  return {errc::invalid_value, text.append(what), "InvalidNamespaceError"};
}

bool part_fits(const std::string& pattern, const std::string& part) {
  return pattern == "*" || part == pattern;
}

} // namespace

result<void> check_store_namespace(const store_namespace& space) {
  if (space.empty())
    return refused("the namespace is empty");
  if (space.size() > limits::store_namespace_parts_max)
    return refused("the namespace has more than "
                   + std::to_string(limits::store_namespace_parts_max) + " parts");
  std::size_t size = 0;
  for (const auto& part : space)
    size += part.size() + 1;
  if (size > limits::store_namespace_bytes_max)
    return refused("the namespace is longer than "
                   + std::to_string(limits::store_namespace_bytes_max) + " bytes");
  for (const auto& part : space) {
    if (part.empty())
      return refused("the namespace has an empty part");
    if (part.find('.') != std::string::npos)
      return refused("a part of the namespace has a dot: `" + part + "`");
  }
  if (space.front() == "langgraph")
    return refused("the namespace begins with a reserved part: `langgraph`");
  return {};
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
