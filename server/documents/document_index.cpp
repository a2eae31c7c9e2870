// document_index: terms of documents, and plans of queries.
#include "server/documents/document_index.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace troupe::server {

namespace {

constexpr char term_end = '\0';

error refused_change(const document_change& change, std::string_view why) {
  std::string text{"change a document: "};
  text.append(to_string(change.kind)).append(" `").append(change.id).append("`: ").append(why);
  return {errc::invalid_value, std::move(text)};
}

bool has_only_terms(const document_index& index, const value& body) {
  for (auto name : {index.member, index.order})
    if (const auto& member = body[name]; member.is_string() && !is_term(member.as_string()))
      return false;
  return true;
}

result<void> check_change(const document_change& change) {
  const auto& id = change.id;
  if (id.empty() || id.size() > limits::document_id_bytes_max || id.find('\0') != id.npos)
    return refused_change(change, "its id must have 1 to "
                                    + std::to_string(limits::document_id_bytes_max)
                                    + " bytes and no NUL");
  if (!change.body)
    return {};
  if (!change.body->is_map())
    return refused_change(change, "its body is not a map");
  for (const auto& index : document_indexes)
    if (index.kind == change.kind && !has_only_terms(index, *change.body))
      return refused_change(change, "a text with an index must have at most "
                                      + std::to_string(limits::document_term_bytes_max)
                                      + " bytes and no NUL: `" + std::string{index.member}
                                      + "` or `" + std::string{index.order} + "`");
  return {};
}

// The member of an index that the query compares with a term; null when it does not.
const value* compared_term(const document_index& index, const document_query& query) {
  for (const auto& [member, to] : query.equal)
    if (member == index.member && to.is_string() && is_term(to.as_string()))
      return &to;
  return nullptr;
}

bool compares_members(const document_query& query) {
  return !query.contains.empty() || query.like;
}

// How well an index serves the query; 0: not at all.
int usefulness(const document_index& index, const document_query& query) {
  auto is_ordered = query.order_by == index.order;
  if (index.kind != query.kind)
    return 0;
  if (index.member.empty())
    return is_ordered ? 1 : 0;
  return compared_term(index, query) ? (is_ordered ? 3 : 2) : 0;
}

} // namespace

std::uint64_t index_fingerprint() {
  std::string all;
  for (const auto& index : document_indexes) {
    all.push_back(static_cast<char>(index.kind));
    all.append(index.member).append(1, term_end).append(index.order).append(1, term_end);
  }
  return value(all).hash();
}

bool is_term(std::string_view text) noexcept {
  return text.size() <= limits::document_term_bytes_max && text.find(term_end) == text.npos;
}

std::string term_of(const value& member) {
  if (!member.is_string())
    return {other_term};
  return std::string{text_term}.append(member.as_string()).append(1, term_end);
}

std::string terms_of(const document_index& index, const value& body) {
  auto order = term_of(body[index.order]);
  return index.member.empty() ? order : term_of(body[index.member]) + order;
}

std::string_view id_after_terms(const document_index& index, std::string_view rest) noexcept {
  for (int terms = index.member.empty() ? 1 : 2; terms > 0; --terms) {
    auto end = rest.starts_with(text_term) ? rest.find(term_end) : 0;
    if (rest.empty() || end == rest.npos)
      return {};
    rest.remove_prefix(end + 1);
  }
  return rest;
}

result<void> check_changes(std::span<const document_change> changes) {
  std::set<std::pair<document_kind, std::string_view>> seen;
  for (const auto& change : changes) {
    if (auto ok = check_change(change); !ok)
      return ok;
    if (!seen.emplace(change.kind, change.id).second)
      return refused_change(change, "it is changed twice");
  }
  if (!changes.empty() && changes.back().is_condition)
    return refused_change(changes.back(), "no change comes after this condition");
  return {};
}

document_plan plan_of(const document_query& query) {
  document_plan plan;
  if (!query.ids.empty()) {
    plan.from = document_plan::source::ids;
    return plan;
  }
  const document_index* best = nullptr;
  if (query.id_prefix.empty())
    for (const auto& index : document_indexes)
      if (usefulness(index, query) > (best ? usefulness(*best, query) : 0))
        best = &index;
  if (!best) {
    plan.is_ordered = query.order_by.empty();
    plan.is_exact = query.equal.empty() && !compares_members(query);
    plan.is_of_kind = query.id_prefix.empty();
    return plan;
  }
  plan.from = document_plan::source::index;
  plan.index = static_cast<std::size_t>(best - document_indexes.data());
  plan.is_ordered = query.order_by == best->order;
  auto is_compared = !best->member.empty();
  if (is_compared)
    plan.terms = term_of(*compared_term(*best, query));
  plan.is_exact = query.equal.size() == (is_compared ? 1 : 0) && !compares_members(query);
  plan.is_of_kind = !is_compared;
  return plan;
}

} // namespace troupe::server
