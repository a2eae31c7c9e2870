// document_watches: adding watches, and telling them.
#include "server/documents/document_watches.hpp"

#include <algorithm>
#include <map>

namespace troupe::server {

// Recursive, since a watcher may drop its own handle.
struct document_watches::watch {
  const document_kind kind;
  const watcher told;
  std::recursive_mutex mutex;
  bool has_ended = false;

  watch(document_kind of, watcher fn) : kind{of}, told{std::move(fn)} {}
};

std::shared_ptr<void> document_watches::add(document_kind kind, watcher told) {
  auto made = std::make_shared<watch>(kind, std::move(told));
  std::shared_ptr<void> handle{static_cast<void*>(made.get()), [made](void*) {
                                 std::scoped_lock lock{made->mutex};
                                 made->has_ended = true;
                               }};
  std::scoped_lock lock{mutex_};
  std::erase_if(watches_, [](const auto& one) { return one.expired(); });
  watches_.push_back(made);
  return handle;
}

std::vector<std::shared_ptr<document_watches::watch>> document_watches::living() {
  std::vector<std::shared_ptr<watch>> found;
  std::scoped_lock lock{mutex_};
  for (const auto& one : watches_)
    if (auto still = one.lock())
      found.push_back(std::move(still));
  return found;
}

void document_watches::tell(document_kind kind, const std::vector<std::string>& ids) {
  if (ids.empty())
    return;
  for (const auto& one : living()) {
    if (one->kind != kind)
      continue;
    std::scoped_lock lock{one->mutex};
    if (!one->has_ended)
      one->told(ids);
  }
}

void document_watches::tell(std::span<const document_change> changes) {
  std::map<document_kind, std::vector<std::string>> ids;
  for (const auto& change : changes)
    if (!change.is_condition)
      ids[change.kind].push_back(change.id);
  for (const auto& [kind, changed] : ids)
    tell(kind, changed);
}

std::vector<document_kind> document_watches::kinds() {
  std::vector<document_kind> found;
  for (const auto& one : living())
    if (std::ranges::find(found, one->kind) == found.end())
      found.push_back(one->kind);
  return found;
}

} // namespace troupe::server
