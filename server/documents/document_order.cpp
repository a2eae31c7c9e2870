// document_order: sorting places of documents.
#include "server/documents/document_order.hpp"

namespace troupe::server {

document_place place_of(const std::string& id, const value& body, const document_query& query) {
  document_place place{id, std::nullopt};
  if (const auto& member = body[query.order_by]; !query.order_by.empty() && member.is_string())
    place.text = std::string{member.as_string()};
  return place;
}

bool comes_before(const document_place& a, const document_place& b, const document_query& query) {
  if (query.order_by.empty())
    return query.descending ? b.id < a.id : a.id < b.id;
  if (a.text.has_value() != b.text.has_value())
    return a.text.has_value();
  if (a.text != b.text)
    return query.descending ? *b.text < *a.text : *a.text < *b.text;
  return a.id < b.id;
}

document_range page_range(const document_query& query, std::size_t total) {
  auto first = std::min(query.offset, total);
  return {first, first + std::min(query.limit.value_or(total), total - first)};
}

std::vector<document_place> page_of(std::vector<document_place> all, const document_query& query) {
  auto [first, end] = page_range(query, all.size());
  auto at = [&all](std::size_t n) { return all.begin() + static_cast<std::ptrdiff_t>(n); };
  std::partial_sort(at(0), at(end), all.end(),
                    [&query](const auto& a, const auto& b) { return comes_before(a, b, query); });
  return {std::move_iterator{at(first)}, std::move_iterator{at(end)}};
}

} // namespace troupe::server
