// document_conflict: the check of a document's revision.
#pragma once

#include "server/documents/document_store.hpp"

namespace troupe::server {

/// Whether a document has the revision that a change expects, or is there, as a condition wants it.
/// Shape:  `change` in any store's form. `now`: the document's revision; 0: it does not exist.
/// Errors: conflict, which names the document.
template <class Change> result<void> check_revision(const Change& change, std::uint64_t now) {
  std::string text;
  if (change.is_condition && now == 0)
    text = "change documents: the one that they need does not exist: ";
  else if (change.expected && *change.expected != now)
    text = "change a document: it has revision " + std::to_string(now) + ", not "
           + std::to_string(*change.expected) + ": ";
  else
    return {};
  text.append(to_string(change.kind)).append(" `").append(change.id).append("`");
  return error{errc::conflict, std::move(text)};
}

} // namespace troupe::server
