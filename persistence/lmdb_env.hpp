// LMDB with its caveats as rules: who may open what, when, and what its errors mean.
//
// Rules kept here and by the callers:
// - One environment a file and process (the registry in lmdb_saver.cpp), never across fork().
// - A transaction lives inside one call, or on the writer thread; MDB_NOTLS frees readers of
//   their thread. Read transactions are short, because they pin pages.
// - The map is resized only while this process has no transaction: every transaction holds
//   `resize_mutex_` shared, a resize holds it alone.
// - After a failed commit the environment is opened anew: LMDB may be in its fatal state, and a
//   second fsync can report success for data the kernel has dropped.
#pragma once

#include <troupe/error.hpp>

#include <lmdb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

namespace troupe {

/// What an LMDB result code means to troupe. The message names the file and what to do.
/// Shape:  `rc` an MDB_ code or errno, not 0.
error lmdb_error(int rc, std::string_view doing, const std::filesystem::path& file);

/// Brings the names in a directory to the disk. Where that can't be asked for, does nothing.
/// Blocks: on the disk. Errors: storage_failed.
result<void> sync_directory(const std::filesystem::path& dir);

class lmdb_env;

/// A transaction, aborted at its end unless committed. Must not outlive its environment.
class lmdb_txn {
public:
  lmdb_txn(lmdb_txn&& other) noexcept;
  lmdb_txn& operator=(lmdb_txn&&) = delete;
  ~lmdb_txn();

  /// The stored bytes, which lie in the map until the transaction ends or next writes.
  result<std::optional<std::string_view>> get(std::string_view key) const;
  result<void> put(std::string_view key, std::string_view data);
  /// Removes a key, if it is there.
  result<void> erase(std::string_view key);
  /// Removes all keys that begin with the prefix.
  result<void> erase_all(std::string_view prefix);
  std::size_t entries() const;

  /// Blocks: on the disk. Errors: storage_full, storage_failed; nothing was changed.
  result<void> commit();

  /// Of a write transaction: one more than that of the one committed before it, by any process.
  std::uint64_t id() const noexcept { return mdb_txn_id(txn_); }
  lmdb_env& env() const noexcept { return *env_; }

private:
  friend class lmdb_env;
  friend class lmdb_cursor;
  lmdb_txn(lmdb_env& env, std::shared_lock<std::shared_mutex> lock) noexcept
    : env_{&env},
      lock_{std::move(lock)} {}

  lmdb_env* env_;
  std::shared_lock<std::shared_mutex> lock_;
  MDB_txn* txn_ = nullptr;
};

/// A place in the ordered keys. Must not outlive its transaction.
class lmdb_cursor {
public:
  explicit lmdb_cursor(const lmdb_txn& txn) noexcept : txn_{txn} {}
  lmdb_cursor(const lmdb_cursor&) = delete;
  lmdb_cursor& operator=(const lmdb_cursor&) = delete;
  ~lmdb_cursor();

  /// Moves, and says whether there is an entry: the first one not before `key`, the last one
  /// before `key`, the neighbours.
  result<bool> seek(std::string_view key);
  result<bool> seek_before(std::string_view key);
  result<bool> next() { return move(MDB_NEXT); }
  result<bool> previous() { return move(MDB_PREV); }

  std::string_view key() const noexcept { return text(key_); }
  std::string_view data() const noexcept { return text(data_); }

private:
  static std::string_view text(const MDB_val& v) noexcept {
    return {static_cast<const char*>(v.mv_data), v.mv_size};
  }
  result<bool> move(MDB_cursor_op op);

  const lmdb_txn& txn_;
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_{};
  MDB_val data_{};
};

/// The environment of one file.
/// Thread: begin_read() on any, all else on the writer thread.
class lmdb_env {
public:
  /// Opens the file, makes it when it is missing (mode 0600) and clears slots of dead readers. The
  /// file is whole, and it and its name are on the disk, before anything is stored in it.
  /// Units:  `map_size_bytes` the most the file may grow to; address space, not memory.
  /// Errors: storage_failed, checkpoint_corrupt (no LMDB file), storage_locked.
  static result<std::unique_ptr<lmdb_env>> open(std::filesystem::path file,
                                                std::size_t map_size_bytes);
  lmdb_env(const lmdb_env&) = delete;
  lmdb_env& operator=(const lmdb_env&) = delete;
  ~lmdb_env();

  /// Blocks: a write transaction on other processes' write transactions.
  /// Errors: storage_failed.
  result<lmdb_txn> begin_read() { return begin(MDB_RDONLY); }
  result<lmdb_txn> begin_write() { return begin(0); }

  /// Opens the file anew. Blocks: on read transactions. Errors: as open; begin_ fails until a later
  /// call succeeds.
  result<void> reopen();

  /// Sets how far the file may grow, at least to what it holds now. Blocks: on read transactions.
  result<void> resize(std::size_t map_size_bytes);

  /// Frees pages that readers of dead processes pin.
  void clear_dead_readers();

  /// Makes the file as long as its pages say. A file cut short by damage would otherwise end the
  /// process when it is read (SIGBUS). Only inside a write transaction.
  result<void> cover_pages();

  const std::filesystem::path& file() const noexcept { return file_; }
  std::size_t map_size_bytes() const noexcept { return map_size_bytes_; }

private:
  friend class lmdb_txn;
  friend class lmdb_cursor;
  lmdb_env(std::filesystem::path file, std::size_t map_size_bytes)
    : file_{std::move(file)},
      map_size_bytes_{map_size_bytes} {}

  int make_file() const;
  result<void> open_file();
  result<lmdb_txn> begin(unsigned flags);
  int why_short() const;
  error failure(int rc, std::string_view doing) const { return lmdb_error(rc, doing, file_); }

  std::filesystem::path file_;
  std::size_t map_size_bytes_;
  std::shared_mutex resize_mutex_;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};

} // namespace troupe
