// What the changes of the long-term store's file and of a cache's have in common: a transaction,
// the file's meta record, and records sealed with the file's data key.
//
// Invariants:
//  - Into a file that has a data key nothing is stored without it. What was stored before the file
//    had one stays plain until it is stored anew.
#pragma once

#include "persistence/lmdb/data_key.hpp"
#include "persistence/lmdb/lmdb_index.hpp"

#include <memory>
#include <string>

namespace troupe {

/// How the records of an open file are sealed: what kind of file it is, the keys it was opened
/// with, and what seals.
/// Thread: `keys` on any, the sealers within one change at a time.
struct file_sealing {
  file_sealing(std::string_view name_of_kind, const store_key& meta_key, const data_key_place& at,
               std::shared_ptr<const keyring> ring, std::size_t compress_bytes_min)
    : name{name_of_kind},
      meta{meta_key},
      data_key{at},
      keys{std::move(ring)},
      sealer{compress_bytes_min} {}

  const std::string_view name; // "store"
  const store_key meta;
  const data_key_place data_key;
  const std::shared_ptr<const keyring> keys; // null: what is new is plain
  record_sealer sealer;
  record_sealer vector_sealer{SIZE_MAX}; // singles hardly get smaller
};

/// One change of a file. Nothing is changed without commit().
/// Thread: one at a time.
class file_change {
public:
  /// Begins a change, which makes an empty file one of its kind, or else load()s its meta record: a
  /// member that takes the payload, or what is wrong with it.
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

  /// Makes commit() write, also if nothing was changed.
  void touch() noexcept { has_changed_ = true; }

  /// Wraps the file's data key, if it has one, under the current key of the ring.
  /// Errors: as rewrap_data_key.
  result<std::optional<bool>> rewrap_key();

protected:
  file_change(lmdb_txn txn, file_sealing& sealing);

  /// Opens a record that is plain or sealed. Owns: nothing, as record_opener::open.
  result<std::string_view> open(std::string_view stored, std::string_view key, record_kind kind) {
    return cipher_.open(txn_, opener_, stored, key, kind);
  }

  /// Stores record_ as it is.
  result<void> write(const store_key& key, record_kind kind);
  /// Seals record_ with the file's data key; where there is a ring and no data key, one is made.
  /// Errors: also those of find_cipher.
  result<void> seal(const store_key& key, record_kind kind);
  /// Stores record_, which was sealed.
  result<void> write_sealed(const store_key& key);
  /// Likewise, as lmdb_txn::append.
  result<void> append_sealed(const store_key& key);
  result<void> erase(std::string_view key);
  /// Nothing is written where nothing was changed. `append` writes the meta record's payload.
  template <class Append> result<void> commit_with(Append append) {
    if (!has_changed_)
      return {};
    begin_record(record_);
    append(record_);
    if (auto ok = write(sealing_->meta, record_kind::meta); !ok)
      return ok;
    return txn_.commit();
  }
  /// Removes the file's data key: what was sealed with it can be read by nobody any more.
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
