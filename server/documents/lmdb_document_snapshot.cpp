// lmdb_document_snapshot: reading documents and their indexes.
#include "server/documents/lmdb_document_snapshot.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace troupe::server {

namespace {

// The id of a key; `index` null: of a document's own key.
result<std::string_view> id_in(std::string_view key, std::string_view data,
                               const document_index* index) {
  if (!index)
    return id_of_key(key);
  auto id = id_after_terms(*index, after_index(key));
  auto record = open_record(data, key, record_kind::document_index);
  if (!record || id.empty())
    return record ? damaged(record_kind::document_index) : record.error();
  return id;
}

// The end of a page that needs no more candidates.
std::size_t end_of_page(const document_query& query) {
  constexpr auto all = std::numeric_limits<std::size_t>::max();
  return query.limit.value_or(all) < all - query.offset ? query.offset + *query.limit : all;
}

} // namespace

lmdb_document_snapshot::lmdb_document_snapshot(lmdb_txn txn, const documents_meta& meta,
                                               const key_provider* keys)
  : txn_{std::move(txn)},
    meta_{meta},
    cipher_{{documents_data_key(), "the encrypted documents"}, keys} {}

result<lmdb_document_snapshot> lmdb_document_snapshot::begin(lmdb_env& env,
                                                             const key_provider* keys) {
  auto txn = env.begin_read();
  if (!txn)
    return txn.error();
  auto key = documents_meta_key();
  auto stored = txn->get(key);
  if (!stored)
    return stored.error();
  auto payload = open_record(stored->value_or(""), key, record_kind::meta);
  auto meta = payload ? read_documents_meta(*payload) : payload.error();
  if (!meta)
    return meta.error();
  return lmdb_document_snapshot{std::move(*txn), *meta, keys};
}

result<std::optional<document>> lmdb_document_snapshot::get(document_kind kind,
                                                            const std::string& id) {
  auto key = document_key(kind, id);
  auto stored = txn_.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<document>{};
  ++documents_read_;
  record_opener::scope scope{opener_};
  auto payload = cipher_.open(txn_, opener_, **stored, key, record_kind::document);
  auto head = payload ? read_document_head(*payload) : payload.error();
  auto whole = head ? read_document(id, *head) : head.error();
  if (!whole)
    return of_document(whole.error(), kind, id);
  return std::optional{std::move(*whole)};
}

// ---- searching ----------------------------------------------------------------------------------

result<document_page> lmdb_document_snapshot::search(const document_query& query) {
  auto plan = plan_of(query);
  return plan.is_ordered ? search_in_order(query, plan) : search_and_sort(query, plan);
}

// The total of all documents of a kind is kept, so such a search ends with its page. Other totals
// are counted, without reading documents if all candidates match.
result<document_page> lmdb_document_snapshot::search_in_order(const document_query& query,
                                                              const document_plan& plan) {
  const auto end = end_of_page(query);
  const auto total_is_kept = plan.is_exact && plan.is_of_kind;
  document_page page;
  auto taken = each_candidate(query, plan, [&](const std::string& id) -> result<bool> {
    const auto is_in_page = page.total >= query.offset && page.total < end;
    if (!plan.is_exact || is_in_page) {
      auto one = get(query.kind, id);
      if (!one)
        return one.error();
      if (!*one || (!plan.is_exact && !matches(**one, query)))
        return true;
      if (is_in_page)
        page.documents.push_back(std::move(**one));
    }
    ++page.total;
    return !total_is_kept || page.total < end;
  });
  if (!taken)
    return taken.error();
  if (total_is_kept)
    page.total = meta_.count(query.kind);
  return page;
}

result<document_page> lmdb_document_snapshot::search_and_sort(const document_query& query,
                                                              const document_plan& plan) {
  std::vector<document_place> places;
  auto taken = each_candidate(query, plan, [&](const std::string& id) -> result<bool> {
    auto one = get(query.kind, id);
    if (!one)
      return one.error();
    if (*one && matches(**one, query))
      places.push_back(place_of(id, (*one)->body, query));
    return true;
  });
  if (!taken)
    return taken.error();
  document_page page{{}, places.size()};
  for (const auto& place : page_of(std::move(places), query)) {
    auto one = get(query.kind, place.id);
    if (!one)
      return one.error();
    page.documents.push_back(std::move(**one));
  }
  return page;
}

// ---- candidates ---------------------------------------------------------------------------------

result<bool> lmdb_document_snapshot::each_candidate(const document_query& query,
                                                    const document_plan& plan,
                                                    const take_id& take) {
  const auto is_backwards = plan.is_ordered && query.descending;
  switch (plan.from) {
    case document_plan::source::ids:
      for (const auto& id : std::set<std::string>{query.ids.begin(), query.ids.end()})
        if (auto more = take(id); !more || !*more)
          return more;
      return true;
    case document_plan::source::documents: {
      auto prefix = documents_prefix(query.kind, query.id_prefix);
      return is_backwards ? each_key_backwards(prefix, nullptr, take)
                          : each_key(prefix, nullptr, take);
    }
    case document_plan::source::index: break;
  }
  const auto& index = document_indexes[plan.index];
  if (!is_backwards)
    return each_key(index_prefix(plan.index, plan.terms), &index, take);
  // Documents without the text come last in both directions.
  auto more = each_key_backwards(index_prefix(plan.index, plan.terms + text_term), &index, take);
  return more && *more ? each_key(index_prefix(plan.index, plan.terms + other_term), &index, take)
                       : more;
}

result<bool> lmdb_document_snapshot::each_key(const store_key& prefix, const document_index* index,
                                              const take_id& take) {
  lmdb_cursor at{txn_};
  auto found = at.seek(prefix);
  for (; found && *found && at.key().starts_with(prefix.view()); found = at.next()) {
    ++keys_read_;
    auto id = id_in(at.key(), at.data(), index);
    if (!id)
      return id.error();
    if (auto more = take(std::string{*id}); !more || !*more)
      return more;
  }
  return found ? result<bool>{true} : found.error();
}

// Keys with equal terms are taken in the order of their ids.
result<bool> lmdb_document_snapshot::each_key_backwards(const store_key& prefix,
                                                        const document_index* index,
                                                        const take_id& take) {
  std::vector<std::string> alike;
  std::string terms;
  auto take_alike = [&]() -> result<bool> {
    for (; !alike.empty(); alike.pop_back())
      if (auto more = take(alike.back()); !more || !*more)
        return more;
    return true;
  };
  lmdb_cursor at{txn_};
  auto found = at.seek_before(behind(prefix));
  for (; found && *found && at.key().starts_with(prefix.view()); found = at.previous()) {
    ++keys_read_;
    auto id = id_in(at.key(), at.data(), index);
    if (!id)
      return id.error();
    auto before_id = at.key().substr(0, at.key().size() - id->size());
    if (!index || before_id != terms)
      if (auto more = take_alike(); !more || !*more)
        return more;
    terms = before_id;
    alike.emplace_back(*id);
  }
  return found ? take_alike() : found;
}

} // namespace troupe::server
