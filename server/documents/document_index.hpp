// document_index: the indexes of documents, and the way in which a query uses them. Pure.
#pragma once

#include "server/documents/document_store.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace troupe::server {

/// An index of the documents of a kind.
/// Shape:  `member`: a member that a query compares; empty: the index only sorts. `order`: the
///         member by which documents with an equal `member` are sorted. `newest_first`: the
///         direction in which Postgres sorts; LMDB reads both ways.
struct document_index {
  document_kind kind;
  std::string_view member;
  std::string_view order;
  bool newest_first = true;
};

/// All indexes. A file of another table gets its indexes anew when it is opened; Postgres needs a
/// migration.
inline constexpr std::array document_indexes{
  document_index{document_kind::assistant, "", "created_at"},
  document_index{document_kind::assistant, "graph_id", "created_at"},
  document_index{document_kind::thread, "", "created_at"},
  document_index{document_kind::thread, "status", "created_at"},
  document_index{document_kind::run, "", "created_at"},
  document_index{document_kind::run, "status", "created_at", false}, // which is when a run is due
  document_index{document_kind::cron, "", "created_at"},
  document_index{document_kind::cron, "", "next_run_date", false},
};

/// A number that other tables do not have, most probably.
std::uint64_t index_fingerprint();

/// Whether a text can be a term: it is short enough and has no NUL.
bool is_term(std::string_view text) noexcept;

/// The first bytes of terms: of texts, and of all else, which comes last.
inline constexpr char text_term = 'a';
inline constexpr char other_term = 'z';

/// A member's term in the key of an index: texts sort as texts, all else comes last.
/// Shape:  a text must be a term.
std::string term_of(const value& member);
/// The terms of a document in one index, in the order of the key.
std::string terms_of(const document_index& index, const value& body);
/// The id in the rest of an index's key: what follows its terms. Empty for a damaged key.
std::string_view id_after_terms(const document_index& index, std::string_view rest) noexcept;

/// The changes are well-formed: their ids, bodies and terms are within limits, and no document is
/// in two of them. Errors: invalid_value, which names the document.
result<void> check_changes(std::span<const document_change> changes);

/// The way to find a query's documents.
struct document_plan {
  enum class source { ids, documents, index };
  source from = source::documents;
  std::size_t index = 0;   ///< in document_indexes, with source::index
  std::string terms = {};  ///< the first bytes of the keys, after the index
  bool is_ordered = false; ///< candidates come in the query's order
  bool is_exact = false;   ///< each candidate matches: none needs to be read for that
  bool is_of_kind = false; ///< the candidates are all documents of the kind
};
document_plan plan_of(const document_query& query);

} // namespace troupe::server
