// document_changes: changes of documents, and commits that are tried again while other changes come
// between.
#pragma once

#include "server/documents/document_store.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {

inline constexpr int commit_tries_max = 32; // of a change that others make at the same time

/// The parts of an id "FIRST/SECOND" (document_kind). An id without `/` is both.
inline std::string first_of_id(const std::string& id) {
  return id.substr(0, id.find('/'));
}
inline std::string second_of_id(const std::string& id) {
  return id.substr(id.find('/') + 1);
}

inline document_change change_to(document_kind kind, std::string id, value body,
                                 std::optional<std::uint64_t> expected = std::nullopt) {
  return {kind, std::move(id), std::move(body), expected};
}
inline document_change removal_of(document_kind kind, std::string id,
                                  std::optional<std::uint64_t> expected = std::nullopt) {
  return {kind, std::move(id), std::nullopt, expected};
}
/// The changes after it are refused (conflict) unless the document exists.
inline document_change condition_of(document_kind kind, std::string id) {
  return {kind, std::move(id), std::nullopt, std::nullopt, true};
}

/// Calls `change` until no other change came between its reads and its commit.
template <class F> auto without_conflict(F&& change) {
  for (int tries = 1;; ++tries) {
    try {
      return change();
    } catch (const error& e) {
      if (e.code() != errc::conflict || tries == commit_tries_max)
        throw;
    }
  }
}

inline void commit_all(document_store& documents, std::vector<document_change> changes) {
  documents.commit_and_wait(std::move(changes)).value();
}

} // namespace troupe::server
