// accepted_documents: changes of documents that are not committed yet.
//
// A transaction that is made again finds its changes here, so no reader sees a gap. Those of a lost
// one stay until the next commit; a change that builds on them is refused then.
#pragma once

#include "server/documents/document_store.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace troupe::server {

/// Thread: the writer's for put() and clear(), any for the others.
class accepted_documents {
public:
  /// The document as the change leaves it. Shape: the change expects a revision.
  void put(const document_change& change) {
    std::optional<document> left;
    if (change.body)
      left = document{change.id, change.expected.value() + 1, *change.body};
    std::scoped_lock lock{mutex_};
    documents_.insert_or_assign({change.kind, change.id}, std::move(left));
    has_any_ = true;
  }
  /// All changes are committed, or lost.
  void clear() {
    if (!has_any_)
      return;
    std::scoped_lock lock{mutex_};
    documents_.clear();
    has_any_ = false;
  }

  bool has_any() const noexcept { return has_any_; }
  /// nullopt: the document has no such change. Null within: the change removed it.
  std::optional<std::optional<document>> find(document_kind kind, const std::string& id) const {
    if (!has_any_)
      return std::nullopt;
    std::scoped_lock lock{mutex_};
    auto found = documents_.find({kind, id});
    if (found == documents_.end())
      return std::nullopt;
    return std::make_optional(found->second); // std::optional{…} would be a copy of the inner one
  }

private:
  mutable std::mutex mutex_;
  std::map<std::pair<document_kind, std::string>, std::optional<document>> documents_;
  std::atomic<bool> has_any_ = false;
};

} // namespace troupe::server
