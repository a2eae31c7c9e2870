// file_change: the common part of changes to the long-term store's file and to a cache's. It has a
// transaction, the file's meta record, and records sealed with the file's data key.
//
// Invariants:
//  - In a file with a data key, all new records are sealed. A record from before the key stays
//    plain until it is stored again.
#pragma once

#include "persistence/lmdb/data_key.hpp"
#include "persistence/lmdb/lmdb_index.hpp"

#include <memory>
#include <string>

namespace troupe {

/// The sealing of an open file's records: the kind of file, the keys with which it was opened, and
/// the sealers.
/// Thread: `keys` on any, the sealers within one change at a time.
struct file_sealing {
  file_sealing(std::string_view name_of_kind, const store_key& meta_key, const data_key_place& at,
               std::shared_ptr<const key_provider> ring, std::size_t compress_bytes_min)
    : name{name_of_kind},
      meta{meta_key},
      data_key{at},
      keys{std::move(ring)},
      sealer{compress_bytes_min} {}

  const std::string_view name; // "store"
  const store_key meta;
  const data_key_place data_key;
  const std::shared_ptr<const key_provider> keys; // null: new records are plain
  record_sealer sealer;
  record_sealer vector_sealer{SIZE_MAX}; // single vectors hardly get smaller
};

/// One change of a file. Without commit() nothing changes.
/// Thread: one at a time.
class file_change {
public:
  /// Begins a change. Makes an empty file one of its kind, or calls load() with the meta record of
  /// the file: its payload, or an error.
  /// Errors: checkpoint_corrupt for another program's file; those of load(); storage codes.
  template <class Change> static result<Change> begin(lmdb_env& env, file_sealing& sealing) {
    auto txn = env.begin_write();
    if (!txn)
      return txn.error();
    Change change{std::move(*txn), sealing};
    auto stored = change.find_meta_record();
    if (!stored)
      return stored.error();
    if (*stored) {
      auto loaded = change.load(open_record(**stored, sealing.meta, record_kind::meta));
      if (!loaded)
        return troupe::error{loaded.error().code(),
                             loaded.error().message() + ": " + env.file().string()};
    }
    return change;
  }

  /// Makes commit() write, even when nothing was changed.
  void touch() noexcept { has_changed_ = true; }

  /// Wraps the file's data key, if it has one, under the ring's current key.
  /// Errors: as rewrap_data_key.
  result<std::optional<bool>> rewrap_key();

protected:
  file_change(lmdb_txn txn, file_sealing& sealing);

  /// Opens a plain or sealed record. Owns: nothing, as record_opener::open.
  result<std::string_view> open(std::string_view stored, std::string_view key, record_kind kind) {
    return cipher_.open(txn_, opener_, stored, key, kind);
  }

  /// Stores record_ unsealed.
  result<void> write(const store_key& key, record_kind kind);
  /// Seals record_ with the file's data key. Makes a data key when there is a ring and no data key.
  /// Errors: also those of find_cipher.
  result<void> seal(const store_key& key, record_kind kind);
  /// Stores record_ after seal().
  result<void> write_sealed(const store_key& key);
  /// As write_sealed(), with lmdb_txn::append.
  result<void> append_sealed(const store_key& key);
  result<void> erase(std::string_view key);
  /// Commits, unless nothing was changed. `append` writes the meta record's payload.
  template <class Append> result<void> commit_with(Append append) {
    if (!has_changed_)
      return {};
    begin_record(record_);
    append(record_);
    if (auto ok = write(sealing_->meta, record_kind::meta); !ok)
      return ok;
    return txn_.commit();
  }
  /// Removes the file's data key. Records that were sealed with it can't be read any more.
  result<void> erase_data_key();

  lmdb_txn txn_;
  record_opener opener_;
  std::string record_;
  bool has_changed_ = false;

private:
  result<std::optional<std::string_view>> find_meta_record();

  file_sealing* sealing_;
  data_cipher cipher_;
};

} // namespace troupe
