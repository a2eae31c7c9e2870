// document_watches: the watches of one document store.
#pragma once

#include "server/documents/document_store.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace troupe::server {

/// Thread: any.
class document_watches {
public:
  using watcher = std::function<void(const std::vector<std::string>& ids)>;

  /// As document_store::watch. When the handle's destructor has returned, `told` is not called any
  /// more, unless it drops the handle itself.
  std::shared_ptr<void> add(document_kind kind, watcher told);
  /// Calls the watchers of a kind; without ids, none of them.
  void tell(document_kind kind, const std::vector<std::string>& ids);
  /// Calls the watchers of the kinds of these changes.
  void tell(std::span<const document_change> changes);
  /// The kinds with a watcher.
  std::vector<document_kind> kinds();

private:
  struct watch;
  std::vector<std::shared_ptr<watch>> living();

  std::mutex mutex_;
  std::vector<std::weak_ptr<watch>> watches_;
};

} // namespace troupe::server
