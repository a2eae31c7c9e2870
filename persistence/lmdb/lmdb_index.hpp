// lmdb_index: finds the numbers of threads and namespaces, and all entries of a prefix.
#pragma once

#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Calls `fn(key, data)` for each entry whose key begins with the prefix, in order, until `fn`
/// returns an error. `fn` must not write to the transaction.
template <class Fn> result<void> scan(const lmdb_txn& txn, const store_key& prefix, Fn fn) {
  lmdb_cursor at{txn};
  auto more = at.seek(prefix);
  for (; more && *more && at.key().starts_with(prefix.view()); more = at.next())
    if (auto ok = fn(at.key(), at.data()); !ok)
      return ok;
  return more ? result<void>{} : more.error();
}

/// As scan(), for every entry, one tree after another.
template <class Fn> result<void> scan_all(const lmdb_txn& txn, Fn fn) {
  for (std::size_t tree = 0; tree < txn.trees(); ++tree) {
    lmdb_cursor at{txn, tree};
    auto more = at.seek(std::string_view{"\0", 1});
    for (; more && *more; more = at.next())
      if (!is_tree_name(at.key()))
        if (auto ok = fn(at.key(), at.data()); !ok)
          return ok;
    if (!more)
      return more.error();
  }
  return {};
}

/// Goes over the checkpoints of a chain, in the order of their ids, without their writes.
class checkpoint_cursor {
public:
  checkpoint_cursor(const lmdb_txn& txn, std::uint64_t chain)
    : chain_{chain},
      prefix_{chain_prefix(chain, chain_part::checkpoints)},
      at_{txn, prefix_} {}

  /// Moves to the first checkpoint, the first one not before an id, the last one, the last one
  /// before an id, or a neighbour. False: the checkpoint is missing.
  result<bool> first() { return skip_forwards(at_.seek(prefix_)); }
  result<bool> first_from(std::string_view id) {
    return skip_forwards(at_.seek(checkpoint_key(chain_, id)));
  }
  result<bool> last() { return skip_backwards(at_.seek_before(behind(prefix_))); }
  result<bool> last_before(std::string_view id) {
    return skip_backwards(at_.seek_before(checkpoint_key(chain_, id)));
  }
  result<bool> next() { return skip_forwards(at_.next()); }
  result<bool> previous() { return skip_backwards(at_.previous()); }

  std::string_view id() const noexcept { return at_.key().substr(prefix_.view().size()); }
  std::string_view key() const noexcept { return at_.key(); }
  std::string_view data() const noexcept { return at_.data(); }

private:
  bool is_inside() const noexcept { return at_.key().starts_with(prefix_.view()); }
  result<bool> skip_forwards(result<bool> found);
  result<bool> skip_backwards(result<bool> found);

  std::uint64_t chain_;
  store_key prefix_;
  lmdb_cursor at_;
};

/// Whether the store has writes where format 2 put them.
inline bool has_old_writes(const lmdb_txn& txn) {
  auto tree = tree_of(chain_prefix(0, chain_part::old_writes));
  return tree < txn.trees() && txn.entries(tree) != 0;
}

/// Calls `fn(key, task_id, data)` for each writes record of a checkpoint.
/// Errors: also checkpoint_corrupt for a malformed key.
template <class Fn>
result<void> scan_writes(const lmdb_txn& txn, std::uint64_t chain, std::string_view checkpoint_id,
                         Fn fn) {
  auto scan_place = [&txn, &fn](const store_key& prefix) {
    return scan(txn, prefix, [&](std::string_view key, std::string_view data) -> result<void> {
      auto rest = key.substr(prefix.view().size());
      auto task_id = take_id(rest);
      return task_id ? fn(key, *task_id, data) : damaged(record_kind::writes);
    });
  };
  auto ok = scan_place(writes_prefix(chain, checkpoint_id));
  return ok && has_old_writes(txn) ? scan_place(old_writes_prefix(chain, checkpoint_id)) : ok;
}

/// Removes the writes of a checkpoint.
result<void> erase_writes(lmdb_txn& txn, std::uint64_t chain, std::string_view checkpoint_id);

/// The stored meta record of a file; nullopt for a new file.
/// Shape:  `what` names the kind of file, for the message.
/// Errors: checkpoint_corrupt for another program's file; storage_failed.
result<std::optional<std::string_view>> find_meta(const lmdb_txn& txn, const store_key& key,
                                                  std::string_view what);

/// A thread's record. `number` is also the chain of its root namespace. `owner` is the last writer
/// (thread_claim); 0: no writer yet.
struct thread_entry {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;
};

/// Finds a thread; nullopt when it does not exist.
/// Errors: (also of all functions below) checkpoint_corrupt, format_too_new, storage_failed.
result<std::optional<thread_entry>> find_thread(const lmdb_txn& txn, std::string_view thread_id);
result<std::optional<std::uint64_t>> find_thread_number(const lmdb_txn& txn,
                                                        std::string_view thread_id);

/// The chain of a thread's namespace.
result<std::optional<std::uint64_t>> find_chain(const lmdb_txn& txn, std::uint64_t thread,
                                                std::string_view ns);

/// The chain of a ref's thread and namespace.
result<std::optional<std::uint64_t>> find_chain(const lmdb_txn& txn, const checkpoint_ref& ref);

/// The id of a chain's newest checkpoint; empty when the chain has no checkpoint.
result<std::string> newest_checkpoint(const lmdb_txn& txn, std::uint64_t chain);

/// Removes all records of a chain.
result<void> erase_chain(lmdb_txn& txn, std::uint64_t chain);

/// A namespace and its number.
struct namespace_entry {
  std::string ns;
  std::uint64_t chain = 0;
};

/// All namespaces of a thread by name, the root first.
result<std::vector<namespace_entry>> all_namespaces(const lmdb_txn& txn, std::uint64_t thread);

void append_thread(const thread_entry& thread, std::string& payload);
void append_namespace(std::uint64_t chain, std::string_view ns, std::string& payload);
result<thread_entry> read_thread(std::string_view stored, std::string_view key);

} // namespace troupe
