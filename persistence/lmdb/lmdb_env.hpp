// lmdb_env: LMDB's caveats as rules about opening, transactions and errors.
//
// Rules kept here and by the callers:
// - One environment per file and process (open_objects in data_directory.hpp), never across fork().
// - A transaction lives inside one call, or on the writer thread. MDB_NOTLS frees readers from
//   their thread. Read transactions are short, because they pin pages.
// - The map is resized only while this process has no transaction. Every transaction holds
//   `resize_mutex_` shared; a resize holds it alone.
// - After a failed commit the environment is opened again. LMDB may be in its fatal state, and a
//   second fsync can report success for data that the kernel has dropped.
#pragma once

#include <troupe/error.hpp>

#include <lmdb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// troupe's error for an LMDB result code. The message names the file and a remedy.
/// Shape:  `rc` is an MDB_ code or errno, not 0.
error lmdb_error(int rc, std::string_view doing, const std::filesystem::path& file);

/// The checkpoint_corrupt error of a file of 0 bytes. LMDB would make a new store of it, but
/// make_lmdb_file() never leaves an empty file, so its content was lost.
error empty_file_error(std::string_view doing, const std::filesystem::path& file);

class lmdb_env;

/// The distribution of a file's keys over trees, so that growing parts are at the end of a tree.
/// LMDB fills the pages there, and leaves pages half empty where keys follow.
/// Shape:  tree 0 has no name; tree n is called names[n - 1]. Without names all keys are in one
///         tree. `tree_of` decides from the bytes that every prefix given to erase_all() or a
///         cursor has.
struct lmdb_trees {
  std::span<const char* const> names = {};
  std::size_t (*tree_of)(std::string_view key) = nullptr;
  static constexpr std::size_t names_max = 3;
};

/// The access of an environment to its file. `read_only` writes nothing to the file. It writes to
/// the lock file if this user may, so that other processes know of the reader. If the user may not,
/// the caller must be sure that no process writes to the file.
enum class lmdb_access { read_write, read_only };

/// read_only when the file or its directory exists and this user may not write to it.
lmdb_access possible_access(const std::filesystem::path& file);

/// A transaction, aborted at its end unless committed. Must not outlive its environment.
class lmdb_txn {
public:
  lmdb_txn(lmdb_txn&& other) noexcept;
  lmdb_txn& operator=(lmdb_txn&&) = delete;
  ~lmdb_txn();

  /// The stored bytes, in the map until the transaction ends or writes again; nullopt when the key
  /// is missing.
  result<std::optional<std::string_view>> get(std::string_view key) const;
  result<void> put(std::string_view key, std::string_view data);
  /// As put(), unless the key is there: then the stored bytes, as get() returns them. One search
  /// where a get() and a put() are two.
  result<std::optional<std::string_view>> put_new(std::string_view key, std::string_view data);
  /// As put(), for a key that usually comes last in its tree, so that pages get full.
  result<void> append(std::string_view key, std::string_view data);
  /// Removes a key, if it is there.
  result<void> erase(std::string_view key);
  /// Removes all keys that begin with the prefix from its tree.
  result<void> erase_all(std::string_view prefix);
  std::size_t entries() const;
  std::size_t entries(std::size_t tree) const;
  std::size_t trees() const noexcept;

  /// Blocks: on the disk. Errors: storage_full, storage_failed; then nothing has changed.
  result<void> commit();

  /// The id of a write transaction: one more than that of the last committed one, of any process.
  std::uint64_t id() const noexcept { return mdb_txn_id(txn_); }
  /// Whether there is something to commit. Without changes LMDB uses the id again.
  bool changes() const noexcept { return changes_; }
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
  bool changes_ = false;
};

/// A place in the ordered keys of one tree. Must not outlive its transaction.
class lmdb_cursor {
public:
  /// In the tree of the first key that is sought.
  explicit lmdb_cursor(const lmdb_txn& txn) noexcept : txn_{txn} {}
  lmdb_cursor(const lmdb_txn& txn, std::size_t tree) noexcept : txn_{txn}, tree_{tree} {}
  /// In the tree of a prefix.
  lmdb_cursor(const lmdb_txn& txn, std::string_view prefix) noexcept;
  lmdb_cursor(const lmdb_cursor&) = delete;
  lmdb_cursor& operator=(const lmdb_cursor&) = delete;
  ~lmdb_cursor();

  /// Moves to the first entry not before `key`, the last one before `key`, or a neighbour. False:
  /// the entry is missing.
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
  std::optional<std::size_t> tree_;
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_{};
  MDB_val data_{};
};

/// The environment of one file.
/// Thread: begin_read() on any, all else on the writer thread.
class lmdb_env {
public:
  /// Opens the file and clears slots of dead readers. Makes the file when it is missing (mode
  /// 0600). The file and its name are on the disk before anything is stored. With `read_only` the
  /// file must exist, and begin_write() and resize() fail.
  /// Units:  `map_size_bytes` is the largest size of the file, in address space, not memory.
  /// Errors: storage_failed; storage_locked; checkpoint_corrupt for an empty file or another kind
  ///         of file, and with read_only for a file that was cut short.
  static result<std::unique_ptr<lmdb_env>> open(std::filesystem::path file,
                                                std::size_t map_size_bytes,
                                                const lmdb_trees& trees = {},
                                                lmdb_access access = lmdb_access::read_write);
  lmdb_env(const lmdb_env&) = delete;
  lmdb_env& operator=(const lmdb_env&) = delete;
  ~lmdb_env();

  /// Begins a transaction.
  /// Blocks: a write transaction on other processes' write transactions.
  /// Errors: storage_failed.
  result<lmdb_txn> begin_read() { return begin(MDB_RDONLY); }
  result<lmdb_txn> begin_write();

  /// Makes the missing trees, within a write transaction.
  result<void> make_trees(lmdb_txn& txn);
  /// Moves records out of tree 0 that belong to another tree.
  result<void> sort_into_trees(lmdb_txn& txn);

  /// Opens the file again. Blocks: on read transactions. Errors: as open; then begin_ functions
  /// fail until a later call succeeds.
  result<void> reopen();

  /// Sets the largest size of the file, at least its current content. Blocks: on read transactions.
  /// Errors: storage_failed; then the size is that of the opening, or the file is not open.
  result<void> resize(std::size_t map_size_bytes);

  /// False after a failure to open or resize; then begin_ functions fail until reopen() succeeds.
  bool is_open();

  /// Frees pages that are pinned by readers of dead processes.
  void clear_dead_readers();

  /// Units:  bytes of pages; `used` counts pages with data and LMDB's own.
  struct sizes {
    std::uint64_t file = 0;
    std::uint64_t used = 0;
    std::size_t readers = 0;
  };
  /// Thread: any. Errors: storage_failed.
  result<sizes> measure();

  /// Copies the newest transaction to a new file (mode 0600). Returns its size. The file gets its
  /// name only when it is complete, and is then on the disk. Thread: any.
  /// Blocks: resize() and reopen(), on the disk. Errors: storage_full, storage_failed.
  result<std::uint64_t> copy_to(const std::filesystem::path& file, bool compact);

  const std::filesystem::path& file() const noexcept { return file_; }
  lmdb_access access() const noexcept { return access_; }
  std::size_t map_size_bytes() const noexcept { return map_size_bytes_; }

private:
  friend class lmdb_txn;
  friend class lmdb_cursor;
  lmdb_env(std::filesystem::path file, std::size_t map_size_bytes, const lmdb_trees& trees,
           lmdb_access access)
    : file_{std::move(file)},
      map_size_bytes_{map_size_bytes},
      trees_{trees},
      access_{access} {}

  std::size_t tree_of(std::string_view key) const {
    return trees_.tree_of ? trees_.tree_of(key) : 0;
  }
  MDB_dbi dbi_of(std::string_view key) const { return dbis_[tree_of(key)]; }
  int open_trees(MDB_txn* txn, unsigned flags);

  result<void> open_file();
  result<lmdb_txn> begin(unsigned flags);
  int why_short() const;
  void release_pages_if_grown();
  std::size_t open_readers() const;
  error failure(int rc, std::string_view doing) const { return lmdb_error(rc, doing, file_); }

  std::filesystem::path file_;
  std::size_t map_size_bytes_;
  std::uint64_t released_at_ = 0; // bytes of the file when its pages were released
  lmdb_trees trees_;
  lmdb_access access_;
  std::shared_mutex resize_mutex_;
  MDB_env* env_ = nullptr;
  static constexpr MDB_dbi no_tree = ~MDB_dbi{0}; // not made yet
  std::array<MDB_dbi, 1 + lmdb_trees::names_max> dbis_{};
};

} // namespace troupe
