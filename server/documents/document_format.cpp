// document_format: the bytes of documents.
#include "server/documents/document_format.hpp"

#include "persistence/record/bytes.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

// Areas of keys. Storage format: append only.
constexpr unsigned char documents_area = 0x40; // kind, id
constexpr unsigned char indexes_area = 0x41;   // number of the index, terms, id
constexpr std::size_t area_and_number = 2;

store_key named_key(std::string_view name) {
  store_key key;
  key.append_byte(static_cast<unsigned char>(key_area::meta));
  key.append(name);
  return key;
}

} // namespace

store_key documents_meta_key() {
  return named_key("troupe-server");
}

store_key documents_data_key() {
  return named_key("data-key");
}

store_key documents_prefix(document_kind kind, std::string_view id_prefix) {
  store_key key;
  key.append_byte(documents_area);
  key.append_byte(static_cast<unsigned char>(kind));
  key.append(id_prefix.substr(0, store_key::size_max - area_and_number));
  return key;
}

std::string_view id_of_key(std::string_view key) noexcept {
  return key.substr(std::min(key.size(), area_and_number));
}

store_key index_prefix(std::size_t index, std::string_view terms) {
  store_key key;
  key.append_byte(indexes_area);
  key.append_byte(static_cast<unsigned char>(index));
  key.append(terms);
  return key;
}

store_key index_key(std::size_t index, std::string_view terms, std::string_view id) {
  auto key = index_prefix(index, terms);
  key.append(id);
  return key;
}

store_key indexes_prefix() {
  store_key key;
  key.append_byte(indexes_area);
  return key;
}

std::string_view after_index(std::string_view key) noexcept {
  return id_of_key(key);
}

void append_documents_meta(const documents_meta& meta, std::string& out) {
  append_varint(out, documents_format);
  append_fixed64(out, meta.fingerprint);
  append_varint(out, meta.counts.size());
  for (auto count : meta.counts)
    append_varint(out, count);
}

result<documents_meta> read_documents_meta(std::string_view payload) {
  byte_reader in{payload};
  auto format = in.varint();
  if (format > documents_format)
    return error{errc::format_too_new, "open the server's documents: they have format "
                                         + std::to_string(format) + ", this troupe knows "
                                         + std::to_string(documents_format)
                                         + ": use a newer troupe"};
  documents_meta meta;
  meta.fingerprint = in.fixed64();
  if (in.count() != meta.counts.size() || format == 0)
    return damaged(record_kind::meta);
  for (auto& count : meta.counts)
    count = in.varint();
  if (!in.finished())
    return damaged(record_kind::meta);
  return meta;
}

void append_document(const document_head& head, std::string& out) {
  append_varint(out, head.revision);
  append_varint(out, head.terms.size());
  for (const auto& terms : head.terms)
    append_sized(out, terms);
  out.append(head.encoded);
}

result<document_head> read_document_head(std::string_view payload) {
  byte_reader in{payload};
  document_head head;
  head.revision = in.varint();
  for (auto n = in.count(); n > 0; --n)
    head.terms.emplace_back(in.sized());
  head.encoded = in.rest();
  if (!in.ok() || head.revision == 0)
    return damaged(record_kind::document);
  return head;
}

result<document> read_document(std::string_view id, const document_head& head) {
  auto body = from_msgpack(head.encoded);
  if (!body || !body->is_map())
    return damaged(record_kind::document);
  return document{std::string{id}, head.revision, std::move(*body)};
}

error of_document(const error& err, document_kind kind, std::string_view id) {
  if (!is_damage(err))
    return err;
  std::string text{err.message()};
  text.append(": ").append(to_string(kind)).append(" `").append(id).append("`");
  return {err.code(), std::move(text)};
}

} // namespace troupe::server
