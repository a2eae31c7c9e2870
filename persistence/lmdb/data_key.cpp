// data_key: wraps and unwraps data keys (FORMAT.md, "Key").
#include "persistence/lmdb/data_key.hpp"

#include "persistence/crypt/data_keys.hpp"
#include "persistence/record/bytes.hpp"

#include <string>
#include <utility>

namespace troupe {

namespace {

// The id is shown and looked up, so it is checked, although it is not authenticated yet.
result<wrapped_key> read_wrapped(std::string_view stored, const store_key& key) {
  auto payload = open_record(stored, key, record_kind::key);
  if (!payload)
    return payload.error();
  byte_reader in{*payload};
  wrapped_key wrapped;
  wrapped.id = in.sized();
  wrapped.bytes = in.rest();
  if (!in.ok() || !is_well_formed(wrapped))
    return damaged(record_kind::key);
  return wrapped;
}

// The stored, wrapped key; nullopt when no data key is stored.
result<std::optional<wrapped_key>> find_wrapped(const lmdb_txn& txn, const data_key_place& at) {
  auto stored = txn.get(at.key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<wrapped_key>{};
  auto wrapped = read_wrapped(**stored, at.key);
  if (!wrapped)
    return wrapped.error();
  return std::optional{std::move(*wrapped)};
}

result<void> store_wrapped(lmdb_txn& txn, const store_key& key, const wrapped_key& wrapped) {
  std::string record;
  begin_record(record);
  append_sized(record, wrapped.id);
  record.append(wrapped.bytes);
  seal_record(record, key, record_kind::key);
  return txn.put(key, record);
}

} // namespace

result<std::optional<aes_gcm>> find_cipher(const lmdb_txn& txn, const data_key_place& at,
                                           const key_provider* keys) {
  auto wrapped = find_wrapped(txn, at);
  if (!wrapped)
    return wrapped.error();
  if (!*wrapped)
    return std::optional<aes_gcm>{};
  auto cipher = unwrapped_cipher(keys, **wrapped, at.key.view(), at.of);
  if (!cipher)
    return cipher.error();
  return std::optional{std::move(*cipher)};
}

result<aes_gcm> make_cipher(lmdb_txn& txn, const data_key_place& at, const key_provider& keys) {
  auto made = make_data_key(keys, at.key.view());
  if (!made)
    return made.error();
  if (auto ok = store_wrapped(txn, at.key, made->wrapped); !ok)
    return ok.error();
  return std::move(made->cipher);
}

result<std::optional<bool>> rewrap_data_key(lmdb_txn& txn, const data_key_place& at,
                                            const key_provider& keys, std::string_view current) {
  auto wrapped = find_wrapped(txn, at);
  if (!wrapped)
    return wrapped.error();
  if (!*wrapped)
    return std::optional<bool>{};
  auto anew = rewrapped(keys, **wrapped, current, at.key.view(), at.of);
  if (!anew)
    return anew.error();
  if (!*anew)
    return std::optional{false};
  if (auto ok = store_wrapped(txn, at.key, **anew); !ok)
    return ok.error();
  return std::optional{true};
}

// ---- data_cipher --------------------------------------------------------------------------------

result<aes_gcm*> data_cipher::find(const lmdb_txn& txn) {
  if (!cipher_) {
    auto found = find_cipher(txn, at_, keys_);
    if (!found)
      return found.error();
    cipher_ = std::move(*found);
  }
  return cipher_ ? &*cipher_ : nullptr;
}

result<aes_gcm*> data_cipher::find_or_make(lmdb_txn& txn) {
  auto found = find(txn);
  if (!found || *found || !keys_)
    return found;
  auto made = make_cipher(txn, at_, *keys_);
  if (!made)
    return made.error();
  cipher_ = std::move(*made);
  return &*cipher_;
}

result<std::string_view> data_cipher::open(const lmdb_txn& txn, record_opener& opener,
                                           std::string_view stored, std::string_view key,
                                           record_kind kind) {
  aes_gcm* cipher = nullptr;
  if (is_encrypted(stored)) {
    auto found = find(txn);
    if (!found)
      return found.error();
    cipher = *found;
  }
  return opener.open(stored, key, kind, cipher);
}

} // namespace troupe
