// The key ring: keys for encryption at rest, their sources, and the rotation of a store's data
// keys.
#pragma once

#include <troupe/error.hpp>
#include <troupe/key_provider.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The keys, by id, under which data keys are stored. Each thread of an encrypted data directory
/// has a random data key; the long-term store and the cache have one each. Data keys are stored
/// beside the data, encrypted under the ring's current key. A new key therefore means wrapping them
/// anew (rotate_store_keys), not the data. A key ring is the key provider that needs no service.
/// Shape:  1 … limits::store_keys_max keys; an id is 1 … limits::store_key_id_bytes_max letters,
///         digits and `.`, `_`, `-`. One key is the current one.
/// Owns:   the keys, which are wiped on destruction. No message, log or error contains them.
/// Errors: see the members.
/// Source: troupe; the reference's EncryptedSerializer encrypts with one key without an id.
class keyring final : public key_provider {
public:
  /// From a file of lines `ID KEY` or `ID KEY current`; empty lines and lines that begin with `#`
  /// are ignored. KEY is 64 hex digits or base64 of 32 bytes. The line marked `current` is the
  /// current key; without a mark, the last one.
  /// Shape:  a regular file of at most limits::store_key_file_bytes_max, owned by this user or
  ///         root, without any permission for group and others.
  /// Blocks: on the disk.
  /// Errors: invalid_config, which names the file and the line, never the key.
  /// Source: troupe.
  static result<std::shared_ptr<const keyring>> from_file(const std::string& file);

  /// From the text of such a file. The caller wipes the text.
  /// Errors: invalid_config.
  /// Source: troupe.
  static result<std::shared_ptr<const keyring>> from_text(std::string_view text);

  /// From the file named by TROUPE_STORE_KEY_FILE, or from TROUPE_STORE_KEYS: `ID:KEY` or
  /// `ID:KEY:current`, separated by commas. nullptr when neither is set. Child processes inherit
  /// the environment: prefer a file.
  /// Errors: invalid_config; also when both are set, or one is set and empty.
  /// Source: troupe.
  static result<std::shared_ptr<const keyring>> from_environment();

  /// The id of the key under which new data keys are wrapped.
  const std::string& current_id() const noexcept { return current_; }
  result<std::string> wrapping_id() const override { return current_; }
  result<wrapped_key> wrap(const secret_key& data_key, std::string_view context) const override;
  result<secret_key> unwrap(const wrapped_key& wrapped, std::string_view context) const override;
  bool is_same(const key_provider& other) const noexcept override;

  /// The key of an id; null when it is not in the ring. Owns: nothing, the ring keeps it.
  const secret_key* find(std::string_view id) const noexcept;
  /// All ids, sorted.
  std::vector<std::string> ids() const;

  friend bool operator==(const keyring& a, const keyring& b) noexcept;

private:
  keyring() = default;
  static result<std::shared_ptr<const keyring>> read(std::string_view text,
                                                     const std::string& source, bool is_list);

  std::map<std::string, secret_key, std::less<>> keys_;
  std::string current_;
};

/// The counts of rotate_store_keys.
/// Errors: none.
/// Source: troupe.
struct rotation_report {
  std::size_t threads = 0;   // encrypted threads
  std::size_t rewrapped = 0; // data keys that were under another key, of threads and files
  std::size_t files = 0;     // encrypted files: the long-term store's, the cache's
  friend bool operator==(const rotation_report&, const rotation_report&) = default;
};

/// Wraps all data keys in the data directory `dir` under the current key of `keys`. Its threads,
/// its long-term store and its cache have data keys. Data is not touched. Other processes may run
/// meanwhile, if their rings have both keys. Afterwards no data key depends on the older keys, so
/// they can be dropped from the ring. One exception: another process with an older current key made
/// a thread meanwhile. Rotating again is harmless.
/// Shape:  `keys`: a key ring or another provider, which also has the older keys; not null.
/// Blocks: on the disk; delays others' commits by some ms at a time.
/// Errors: as open_lmdb_saver, and
///         - key_missing: a thread or file is under a key that is not in the ring; data keys that
///           were already wrapped stay wrapped
///         - invalid_config: `keys` is null, or this process has one of the files open with other
///           keys
///         - storage_failed: `dir` has no store
/// Source: troupe.
result<rotation_report> rotate_store_keys(const std::string& dir,
                                          std::shared_ptr<const key_provider> keys);

} // namespace troupe
