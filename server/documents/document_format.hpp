// document_format: the keys and payloads of a data directory's server.mdb. FORMAT.md, "The server's
// documents".
#pragma once

#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "server/documents/document_store.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// The format that this version of troupe writes.
inline constexpr std::uint64_t documents_format = 1;

// ---- keys ---------------------------------------------------------------------------------------

store_key documents_meta_key();
/// The key of the file's data key.
store_key documents_data_key();
/// The beginning of the keys of documents, whose ids begin so.
store_key documents_prefix(document_kind kind, std::string_view id_prefix = {});
inline store_key document_key(document_kind kind, std::string_view id) {
  return documents_prefix(kind, id);
}
/// The id in a document's key.
std::string_view id_of_key(std::string_view key) noexcept;
/// The beginning of the keys of an index, all of which have these terms first.
store_key index_prefix(std::size_t index, std::string_view terms = {});
store_key index_key(std::size_t index, std::string_view terms, std::string_view id);
/// The beginning of the keys of all indexes.
store_key indexes_prefix();
/// The part of an index's key that follows its number.
std::string_view after_index(std::string_view key) noexcept;

// ---- payloads -----------------------------------------------------------------------------------

struct documents_meta {
  std::uint64_t fingerprint = 0;             // of the indexes in the file
  std::array<std::uint64_t, 32> counts = {}; // of documents, by kind
  std::uint64_t& count(document_kind kind) { return counts[static_cast<std::size_t>(kind)]; }
};
void append_documents_meta(const documents_meta& meta, std::string& out);
/// Errors: format_too_new, checkpoint_corrupt.
result<documents_meta> read_documents_meta(std::string_view payload);

/// The part of a document's record in front of its body.
struct document_head {
  std::uint64_t revision = 0;
  std::vector<std::string> terms; // in the indexes of its kind, in their order
  std::string_view encoded;       // the encoded body
};
void append_document(const document_head& head, std::string& out);
/// Reads an opened record. Owns: nothing of the body. Errors: checkpoint_corrupt.
result<document_head> read_document_head(std::string_view payload);
/// The document of a head. Errors: checkpoint_corrupt.
result<document> read_document(std::string_view id, const document_head& head);

/// The error, with the name of the document if it is damage of one.
error of_document(const error& err, document_kind kind, std::string_view id);

} // namespace troupe::server
