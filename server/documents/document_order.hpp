// document_order: the order in which a search lists documents, and the page that it returns. Pure.
#pragma once

#include "server/documents/document_store.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace troupe::server {

/// The place of a document in a search.
/// Shape:  `text`: the member by which the query sorts; nullopt: it is not a text, or the query
///         sorts by id.
struct document_place {
  std::string id;
  std::optional<std::string> text;
};
document_place place_of(const std::string& id, const value& body, const document_query& query);

/// Whether a document comes before another one. Texts descend with the query; equal texts, and
/// documents without one, are in the order of ids.
bool comes_before(const document_place& a, const document_place& b, const document_query& query);

/// The first place of a page, and the end of it, among so many.
struct document_range {
  std::size_t first = 0;
  std::size_t end = 0;
};
document_range page_range(const document_query& query, std::size_t total);

/// The places of the page, in order.
std::vector<document_place> page_of(std::vector<document_place> all, const document_query& query);

} // namespace troupe::server
