// lmdb_document_change: storing documents with their index entries.
#include "server/documents/lmdb_document_change.hpp"

#include "persistence/lmdb/lmdb_index.hpp"
#include "server/documents/document_conflict.hpp"
#include "server/documents/document_index.hpp"

namespace troupe::server {

namespace {

std::vector<std::string> all_terms(document_kind kind, const value& body) {
  std::vector<std::string> terms;
  for (const auto& index : document_indexes)
    if (index.kind == kind)
      terms.push_back(terms_of(index, body));
  return terms;
}

// Calls fn(number of the index, its number among those of the kind), until an error.
template <class Fn> result<void> each_index(document_kind kind, Fn fn) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < document_indexes.size(); ++i)
    if (document_indexes[i].kind == kind)
      if (auto ok = fn(i, n++); !ok)
        return ok;
  return {};
}

} // namespace

file_sealing documents_sealing(std::shared_ptr<const key_provider> keys,
                               std::size_t compress_bytes_min) {
  return {"server's documents",
          documents_meta_key(),
          {documents_data_key(), "the encrypted documents"},
          std::move(keys),
          compress_bytes_min};
}

result<encoded_change> encode(document_change change) {
  encoded_change encoded{change.kind, std::move(change.id), std::nullopt,
                         {},          change.expected,      change.is_condition};
  if (!change.body)
    return encoded;
  auto body = to_msgpack(*change.body);
  if (!body)
    return body.error();
  encoded.encoded = std::move(*body);
  encoded.terms = all_terms(change.kind, *change.body);
  return encoded;
}

// ---- the transaction ----------------------------------------------------------------------------

result<void> lmdb_document_change::load(const result<std::string_view>& payload) {
  auto meta = payload ? read_documents_meta(*payload) : payload.error();
  if (!meta)
    return meta.error();
  meta_ = *meta;
  return {};
}

result<void> lmdb_document_change::commit() {
  return commit_with([this](std::string& out) { append_documents_meta(meta_, out); });
}

result<void> lmdb_document_change::update_indexes() {
  if (meta_.fingerprint == index_fingerprint())
    return {};
  touch();
  if (auto ok = txn_.erase_all(indexes_prefix()); !ok)
    return ok;
  for (std::size_t kind = 0; kind < meta_.counts.size(); ++kind) {
    auto of = static_cast<document_kind>(kind);
    std::vector<std::string> ids; // a scan must not write
    auto scanned = scan(txn_, documents_prefix(of), [&ids](auto key, auto) -> result<void> {
      ids.emplace_back(id_of_key(key));
      return {};
    });
    if (!scanned)
      return scanned;
    for (const auto& id : ids) {
      record_opener::scope scope{opener_};
      auto head = find(of, id);
      if (!head)
        return head.error();
      auto whole = read_document(id, **head);
      if (!whole)
        return of_document(whole.error(), of, id);
      const std::string encoded{(*head)->encoded}; // writing moves the stored bytes
      const auto terms = all_terms(of, whole->body);
      if (auto ok = move_entries(of, id, {}, terms); !ok)
        return ok;
      if (auto ok = write_document(of, id, {whole->revision, terms, encoded}); !ok)
        return ok;
    }
  }
  meta_.fingerprint = index_fingerprint();
  return {};
}

// ---- documents ----------------------------------------------------------------------------------

result<std::optional<document_head>> lmdb_document_change::find(document_kind kind,
                                                                const std::string& id) {
  auto key = document_key(kind, id);
  auto stored = txn_.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<document_head>{};
  auto payload = open(**stored, key, record_kind::document);
  auto head = payload ? read_document_head(*payload) : payload.error();
  if (!head)
    return of_document(head.error(), kind, id);
  return std::optional{std::move(*head)};
}

result<void> lmdb_document_change::check(const std::vector<encoded_change>& changes) {
  for (const auto& change : changes) {
    if (!change.expected && !change.is_condition)
      continue;
    record_opener::scope scope{opener_};
    auto head = find(change.kind, change.id);
    if (!head)
      return head.error();
    auto now = *head ? (*head)->revision : 0;
    if (auto ok = check_revision(change, now); !ok)
      return ok;
  }
  return {};
}

result<void> lmdb_document_change::make(const encoded_change& change) {
  document_head before;
  {
    record_opener::scope scope{opener_};
    auto old = find(change.kind, change.id);
    if (!old && !is_damage(old.error()))
      return old.error();
    if (!old)
      if (auto ok = erase_lost_entries(change.kind, change.id); !ok)
        return ok;
    if (old && *old)
      before = std::move(**old);
    if (auto& count = meta_.count(change.kind); (!old || *old) && count > 0)
      --count;
  }
  if (auto ok = move_entries(change.kind, change.id, before.terms, change.terms); !ok)
    return ok;
  if (!change.encoded)
    return erase(document_key(change.kind, change.id));
  ++meta_.count(change.kind);
  return write_document(change.kind, change.id,
                        {before.revision + 1, change.terms, *change.encoded});
}

result<void> lmdb_document_change::write_document(document_kind kind, const std::string& id,
                                                  const document_head& head) {
  auto key = document_key(kind, id);
  begin_record(record_);
  append_document(head, record_);
  if (auto ok = seal(key, record_kind::document); !ok)
    return ok;
  return write_sealed(key);
}

// ---- index entries ------------------------------------------------------------------------------

// Entries that stay where they are are not written again. No terms: no entries.
result<void> lmdb_document_change::move_entries(document_kind kind, const std::string& id,
                                                const std::vector<std::string>& from,
                                                const std::vector<std::string>& to) {
  return each_index(kind, [&](std::size_t index, std::size_t n) -> result<void> {
    if (n < from.size() && n < to.size() && from[n] == to[n])
      return {};
    if (n < from.size())
      if (auto ok = erase(index_key(index, from[n], id)); !ok)
        return ok;
    if (n >= to.size())
      return {};
    begin_record(record_);
    return write(index_key(index, to[n], id), record_kind::document_index);
  });
}

// The terms of a damaged document are not known, so its indexes are read whole.
result<void> lmdb_document_change::erase_lost_entries(document_kind kind, const std::string& id) {
  return each_index(kind, [&](std::size_t index, std::size_t) -> result<void> {
    std::vector<std::string> lost; // a scan must not write
    auto scanned = scan(txn_, index_prefix(index), [&](auto key, auto) -> result<void> {
      if (id_after_terms(document_indexes[index], after_index(key)) == id)
        lost.emplace_back(key);
      return {};
    });
    if (!scanned)
      return scanned;
    for (const auto& key : lost)
      if (auto ok = erase(key); !ok)
        return ok;
    return {};
  });
}

} // namespace troupe::server
