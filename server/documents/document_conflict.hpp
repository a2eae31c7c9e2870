// document_conflict: the check of a document's revision.
#pragma once

#include "server/documents/document_store.hpp"

namespace troupe::server {

/// Whether a document has the revision that a change expects.
/// Shape:  `now`: its revision; 0: it does not exist.
/// Errors: conflict, which names the document.
inline result<void> check_revision(document_kind kind, const std::string& id,
                                   const std::optional<std::uint64_t>& expected,
                                   std::uint64_t now) {
  if (!expected || *expected == now)
    return {};
  std::string text{"change a document: it has revision "};
  text.append(std::to_string(now)).append(", not ").append(std::to_string(*expected));
  text.append(": ").append(to_string(kind)).append(" `").append(id).append("`");
  return error{errc::conflict, std::move(text)};
}

} // namespace troupe::server
