// data_key: wraps and unwraps data keys (FORMAT.md, "Key").
#include "persistence/lmdb/data_key.hpp"

#include "persistence/record/bytes.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace troupe {

namespace {

struct wrapped_key {
  std::string_view id; // of the ring's key
  std::string_view bytes;
};

error missing(const data_key_place& at, std::string_view id, std::string_view why) {
  std::string text{"open "};
  text.append(at.of).append(": key `").append(id).append("`: ").append(why);
  return {errc::key_missing, std::move(text)};
}

// The id is shown and looked up, so it is checked, although it is not authenticated yet.
result<wrapped_key> read_wrapped(std::string_view stored, const store_key& key) {
  auto payload = open_record(stored, key, record_kind::key);
  if (!payload)
    return payload.error();
  byte_reader in{*payload};
  wrapped_key wrapped;
  wrapped.id = in.sized();
  wrapped.bytes = in.take(wrapped_key_bytes);
  auto is_shown = [](char c) { return c > ' ' && c < 0x7f; };
  if (!in.finished() || wrapped.id.size() > limits::store_key_id_bytes_max
      || !std::ranges::all_of(wrapped.id, is_shown))
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
  return std::optional{*wrapped};
}

result<secret_key> unwrap(const wrapped_key& wrapped, const data_key_place& at,
                          const keyring* ring) {
  const auto* found = ring ? ring->find(wrapped.id) : nullptr;
  if (!found)
    return missing(
      at, wrapped.id,
      ring ? "the key ring does not have it"
           : "the key ring is missing: set TROUPE_STORE_KEY_FILE or open the store with one");
  auto cipher = aes_gcm::with(*found);
  if (!cipher)
    return cipher.error();
  auto data_key = cipher->unwrap(wrapped.bytes, {wrapped.id, at.key});
  if (!data_key)
    return missing(
      at, wrapped.id,
      "the key of this id in the key ring is not the one that was used, or the record was changed");
  return std::move(*data_key);
}

result<void> store_wrapped(lmdb_txn& txn, const store_key& key, const secret_key& data_key,
                           const keyring& ring) {
  const auto& id = ring.current_id();
  auto cipher = aes_gcm::with(*ring.find(id));
  if (!cipher)
    return cipher.error();
  std::string record;
  begin_record(record);
  append_sized(record, id);
  if (auto ok = cipher->wrap(data_key, {id, key}, record); !ok)
    return ok;
  seal_record(record, key, record_kind::key);
  return txn.put(key, record);
}

} // namespace

result<std::optional<aes_gcm>> find_cipher(const lmdb_txn& txn, const data_key_place& at,
                                           const keyring* keys) {
  auto wrapped = find_wrapped(txn, at);
  if (!wrapped)
    return wrapped.error();
  if (!*wrapped)
    return std::optional<aes_gcm>{};
  auto data_key = unwrap(**wrapped, at, keys);
  if (!data_key)
    return data_key.error();
  auto cipher = aes_gcm::with(*data_key);
  if (!cipher)
    return cipher.error();
  return std::optional{std::move(*cipher)};
}

result<aes_gcm> make_cipher(lmdb_txn& txn, const data_key_place& at, const keyring& keys) {
  auto data_key = random_key();
  if (!data_key)
    return data_key.error();
  if (auto ok = store_wrapped(txn, at.key, *data_key, keys); !ok)
    return ok.error();
  return aes_gcm::with(*data_key);
}

result<std::optional<bool>> rewrap_data_key(lmdb_txn& txn, const data_key_place& at,
                                            const keyring& keys) {
  auto wrapped = find_wrapped(txn, at);
  if (!wrapped)
    return wrapped.error();
  if (!*wrapped)
    return std::optional<bool>{};
  if ((*wrapped)->id == keys.current_id())
    return std::optional{false};
  auto data_key = unwrap(**wrapped, at, &keys);
  if (!data_key)
    return data_key.error();
  if (auto ok = store_wrapped(txn, at.key, *data_key, keys); !ok)
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
