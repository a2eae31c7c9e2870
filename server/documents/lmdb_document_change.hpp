// lmdb_document_change: changes the documents of a file, inside one write transaction.
//
// Invariants, unless the file is damaged:
//  - A document has one entry in each index of its kind, under the terms that its record names.
//  - The meta record counts the documents of each kind.
#pragma once

#include "persistence/lmdb/file_change.hpp"
#include "server/documents/document_format.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::server {

/// How the records of the file are sealed.
file_sealing documents_sealing(std::shared_ptr<const key_provider> keys,
                               std::size_t compress_bytes_min);

/// A change whose body is encoded.
/// Shape:  as document_change. `terms` as in document_head; `encoded` nullopt removes the document.
struct encoded_change {
  document_kind kind;
  std::string id;
  std::optional<std::string> encoded;
  std::vector<std::string> terms;
  std::optional<std::uint64_t> expected;
  bool is_condition = false;
};
/// Errors: invalid_value for a body that is too large or deep.
result<encoded_change> encode(document_change change);

/// One change of the file.
/// Thread: one at a time.
/// Errors: of all members storage codes; checkpoint_corrupt, which names the document.
class lmdb_document_change final : public file_change {
public:
  /// Whether the documents have the revisions that the changes expect. Writes nothing.
  /// Errors: conflict.
  result<void> check(const std::vector<encoded_change>& changes);
  /// Makes one change that is not a condition, whatever revision its document has.
  result<void> make(const encoded_change& change);
  /// Makes all index entries anew, unless the file has these indexes.
  result<void> update_indexes();
  /// Nothing is written when nothing was changed.
  result<void> commit();

private:
  friend class file_change;
  using file_change::file_change;

  result<void> load(const result<std::string_view>& payload);
  result<std::optional<document_head>> find(document_kind kind, const std::string& id);
  result<void> move_entries(document_kind kind, const std::string& id,
                            const std::vector<std::string>& from,
                            const std::vector<std::string>& to);
  result<void> erase_lost_entries(document_kind kind, const std::string& id);
  result<void> write_document(document_kind kind, const std::string& id, const document_head& head);

  documents_meta meta_{.fingerprint = 0, .counts = {}};
};

} // namespace troupe::server
