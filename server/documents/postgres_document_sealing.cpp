// postgres_document_sealing: sealing and opening bodies.
#include "server/documents/postgres_document_sealing.hpp"

#include "server/documents/document_format.hpp"

namespace troupe::server {

namespace {

std::string body_place(document_kind kind, std::string_view id) {
  std::string place{"d"};
  place.push_back(static_cast<char>(kind));
  return place.append(id);
}

} // namespace

void document_cipher::set(std::optional<wrapped_key> stored) {
  if (stored_ != stored)
    cipher_.reset();
  stored_ = std::move(stored);
}

result<std::optional<wrapped_key>> document_cipher::make_if_missing() {
  if (stored_ || !sealing_.keys)
    return std::optional<wrapped_key>{};
  auto made = make_data_key(*sealing_.keys, documents_key_place);
  if (!made)
    return made.error();
  stored_ = made->wrapped;
  cipher_.emplace(std::move(made->cipher));
  return stored_;
}

result<aes_gcm*> document_cipher::find() {
  if (!cipher_ && stored_) {
    auto unwrapped = unwrapped_cipher(sealing_.keys.get(), *stored_, documents_key_place,
                                      sealed_documents_name);
    if (!unwrapped)
      return unwrapped.error();
    cipher_.emplace(std::move(*unwrapped));
  }
  return cipher_ ? &*cipher_ : nullptr;
}

result<std::string> document_cipher::seal(document_kind kind, std::string_view id,
                                          std::string_view body) {
  auto cipher = find();
  if (!cipher)
    return cipher.error();
  return *cipher ? sealer_.seal(body, body_place(kind, id), record_kind::document, **cipher)
                 : result<std::string>{std::string{body}};
}

result<document> document_cipher::open(document_kind kind, std::string_view id,
                                       std::uint64_t revision, std::string_view column) {
  record_opener::scope scope{opener_};
  document_head head{.revision = revision, .terms = {}, .encoded = column};
  if (is_sealed(column)) {
    auto cipher = find();
    auto payload = cipher
                     ? opener_.open(column, body_place(kind, id), record_kind::document, *cipher)
                     : result<std::string_view>{cipher.error()};
    if (!payload)
      return of_document(payload.error(), kind, id);
    head.encoded = *payload;
  }
  auto whole = read_document(id, head);
  return whole ? whole : of_document(whole.error(), kind, id);
}

} // namespace troupe::server
