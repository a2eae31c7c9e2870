// data_key: random keys that seal records. Each is stored encrypted under a key of the key ring. A
// thread has its own data key; the long-term store and the cache have one for their file.
#pragma once

#include "persistence/crypt/sealed_record.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/record/keys.hpp"

#include <troupe/key_provider.hpp>

#include <optional>
#include <string_view>

namespace troupe {

/// The place of a data key in the file, and its owner as messages name it.
struct data_key_place {
  store_key key;
  std::string_view of; // "an encrypted thread"
};

/// The cipher of a data key; nullopt when no data key is stored. `keys` may be null.
/// Errors: key_missing when the ring does not have the key, or has another key under its id (the
///         error names the id); checkpoint_corrupt, format_too_new, storage_failed.
result<std::optional<aes_gcm>> find_cipher(const lmdb_txn& txn, const data_key_place& at,
                                           const key_provider* keys);

/// Stores a new, random data key under the ring's current key. Returns its cipher.
/// Errors: storage_full, storage_failed.
result<aes_gcm> make_cipher(lmdb_txn& txn, const data_key_place& at, const key_provider& keys);

/// Wraps a data key under the provider's current key, whose id is `current`. True when it was under
/// another key; nullopt when no data key is stored.
/// Errors: as find_cipher, and storage_full.
result<std::optional<bool>> rewrap_data_key(lmdb_txn& txn, const data_key_place& at,
                                            const key_provider& keys, std::string_view current);

/// The cipher of a data key within a transaction, looked up on first use.
/// Thread: one at a time.
class data_cipher {
public:
  /// `keys` may be null.
  data_cipher(const data_key_place& at, const key_provider* keys) noexcept : at_{at}, keys_{keys} {}

  /// Null when no data key is stored. Errors: as find_cipher.
  result<aes_gcm*> find(const lmdb_txn& txn);
  /// Like find(), but makes a data key when there is a ring and no data key.
  /// Errors: also those of make_cipher.
  result<aes_gcm*> find_or_make(lmdb_txn& txn);

  /// As record_opener::open. A plain record needs no key.
  /// Errors: also those of find_cipher.
  result<std::string_view> open(const lmdb_txn& txn, record_opener& opener, std::string_view stored,
                                std::string_view key, record_kind kind);

private:
  data_key_place at_;
  const key_provider* keys_;
  std::optional<aes_gcm> cipher_;
};

} // namespace troupe
