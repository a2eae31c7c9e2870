// lmdb_writer: writes requests into LMDB, as the sink of the group commit.
#pragma once

#include "persistence/encoded_request.hpp"
#include "persistence/group_commit.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/name_table.hpp"
#include "persistence/record/small_values.hpp"

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Writes requests. Remembers numbers and names of the store while no other process commits, which
/// the ids of transactions show.
/// Thread: the writer thread; prepare() and check_format() come before that thread starts.
class lmdb_writer final : public commit_sink {
public:
  /// With `keys`, which may be null, threads without a data key get one.
  lmdb_writer(lmdb_env& env, const key_provider* keys, std::size_t compress_bytes_min)
    : env_{env},
      keys_{keys},
      sealer_{compress_bytes_min} {}

  /// Makes a new file a store. Checks that an existing file is a store of a known format.
  /// Errors: checkpoint_corrupt, format_too_new, storage_full, storage_failed.
  result<void> prepare();

  /// Checks, without writing, that the file is a store of this format.
  /// Errors: checkpoint_corrupt, format_too_new; storage_failed for an older format.
  result<void> check_format();

  result<void> begin() override;
  write_outcome write(const commit_job& job) override;
  result<void> commit() override;
  void abort() override;

  // ---- for upkeep, within an open transaction

  lmdb_txn& transaction() noexcept { return *txn_; }
  const key_provider* keys() const noexcept { return keys_; }
  record_sealer& sealer() noexcept { return sealer_; }
  result<std::uint64_t> new_number();
  result<void> store_meta_record();
  /// Notes that the transaction removes something, so it may use the reserve of a full store.
  void will_delete() noexcept { has_deleted_ = true; }
  /// Forgets a thread, since its records may have changed.
  void forget_thread(const std::string& thread_id);
  /// Removes all records of a thread, if it exists.
  result<void> erase_thread(const std::string& thread_id);
  /// Removes the value of a channel, with its own record or among small values.
  result<void> erase_value(const value_key_parts& of, aes_gcm* cipher);
  /// The outcome of upkeep. An error gives up the transaction, since it is not a fault of the
  /// request.
  write_outcome ended(result<void> how);

private:
  /// A small value in the record of a checkpoint.
  struct own_value {
    std::uint32_t channel = 0;
    version at;
    std::string bytes;
  };
  /// The versions of a checkpoint's channels, and the small values in its record.
  struct own_part {
    std::vector<numbered_version> versions = {};
    std::vector<own_value> values = {}; // by channel
  };
  struct known_chain {
    std::uint64_t number = 0;
    std::string newest = {}; // the newest stored checkpoint; empty: not known
    value_bases bases = {};
    own_part own = {}; // of the newest stored checkpoint
  };
  struct known_thread {
    std::uint64_t number = 0;
    std::uint64_t owner = 0;
    name_table names;
    std::optional<aes_gcm> cipher;
    std::unordered_map<std::string, known_chain> chains; // by namespace
  };
  /// A channel whose version moved, and its value; null: the channel is empty.
  struct moved_value {
    version at;
    std::uint32_t channel = 0;
    const std::string* name = nullptr;
    const value* val = nullptr;
    encoded_request::piece piece;

    bool is_small() const noexcept {
      return val && !piece.base && piece.bytes.size() <= small_value_bytes_max;
    }
  };
  /// The place of a value that may be stored.
  struct old_value {
    version at;
    std::uint32_t channel = 0;
  };
  static aes_gcm* cipher_of(known_thread& thread) {
    return thread.cipher ? &*thread.cipher : nullptr;
  }

  result<void> check(const save_request& request);
  result<bool> has_parent(const save_request& request);
  result<void> store(const save_request& request);
  result<std::uint64_t> owner_of(const std::string& thread_id);
  result<void> store_thread(const std::string& thread_id, const known_thread& thread);
  result<void> store_writes(known_thread& thread, std::uint64_t chain,
                            const std::string& checkpoint_id, const task_writes& task);
  result<void> seal_writes(known_thread& thread, const store_key& key,
                           std::span<const stored_write> writes);
  result<void> store_checkpoint(known_thread& thread, known_chain& chain,
                                const checkpoint_put& put);
  result<void> store_version(known_thread& thread, known_chain& chain,
                             std::span<const moved_value> moved, bool are_own);
  result<void> store_small_values(std::uint64_t chain, const version& at,
                                  std::span<const small_value> changes, aes_gcm* cipher);
  std::vector<moved_value> moved_values(known_thread& thread, const checkpoint_put& put);
  result<void> store_values(known_thread& thread, known_chain& chain, const checkpoint_put& put);
  result<void> store_value(known_thread& thread, const store_key& key,
                           const encoded_request::piece& piece, const version& at);
  void remember(known_chain& chain, const std::string& channel, value_base stored);
  const known_chain* known_chain_of(const checkpoint_ref& ref) const;
  result<void> store_names(known_thread& thread);

  // small values in the records of checkpoints (lmdb_writer_own_values.cpp)
  result<void> take_over_own_values(known_thread& thread, known_chain& chain,
                                    const checkpoint_put& put, std::span<const moved_value> moved);
  result<void> load_own_values(known_thread& thread, known_chain& chain,
                               std::string_view checkpoint_id);
  result<void> read_own_values(known_thread& thread, std::string_view key, std::string_view stored,
                               own_part& out);
  result<void> find_elsewhere(known_thread& thread, known_chain& chain, std::string_view parent_id,
                              std::vector<numbered_version> wanted);
  result<bool> add_own_values(known_thread& thread, known_chain& chain,
                              std::span<const moved_value> moved);
  result<void> move_own_values_out(known_thread& thread, known_chain& chain);

  // a checkpoint that needs no past (lmdb_writer_past.cpp)
  result<void> drop_older(known_thread& thread, known_chain& chain, const save_request& request);
  result<std::vector<std::string>> some_older(std::uint64_t chain, std::string_view id) const;
  result<bool> drop_one(known_thread& thread, known_chain& chain, const std::string& older,
                        const checkpoint& now);
  result<bool> find_old_value(known_thread& thread, std::uint64_t chain, old_value at,
                              const version* now, std::vector<old_value>& out);
  result<std::optional<version>> base_of(known_thread& thread, const store_key& key,
                                         const version& at);
  result<void> drop_values(known_thread& thread, known_chain& chain,
                           std::vector<old_value> old_values);
  result<void> drop_task_namespaces(known_thread& thread, const save_request& request);
  result<void> drop_long_past(const known_thread& thread, const save_request& request);

  result<void> put(const store_key& key, record_kind kind);
  result<void> put(known_thread& thread, const store_key& key, record_kind kind);

  result<known_thread*> find_or_make_thread(const std::string& thread_id);
  result<void> load_names(known_thread& thread);
  result<void> load_thread(known_thread& thread);
  result<known_chain*> find_or_make_chain(known_thread& thread, const std::string& ns);
  result<void> load_meta();
  result<void> upgrade();
  result<void> make_room();
  result<void> extend_map(bool extended);
  void failed(const troupe::error& err);
  result<void> split_transaction(known_thread& thread);
  void forget();

  lmdb_env& env_;
  const key_provider* keys_;
  std::optional<lmdb_txn> txn_;
  bool reopen_first_ = false;  // a commit failed
  bool is_full_ = false;       // the last transaction found no room
  bool has_deleted_ = false;   // the last transaction removed something, or tried to
  bool wants_reserve_ = false; // a deletion found no room and may use the reserve
  bool is_extended_ = false;   // the map reaches into the reserve

  std::uint64_t last_commit_ = 0; // id of this writer's last transaction; 0: nothing is remembered
  std::uint64_t next_number_ = 0;
  std::uint64_t format_ = 0; // of the file, when it was opened
  std::unordered_map<std::string, known_thread> threads_;
  std::size_t bases_bytes_ = 0; // of all bases of all threads

  encoded_request encoded_;
  checkpoint_numbers numbers_; // of the checkpoint to be stored
  numbered_checkpoint read_;
  std::string record_;
  record_sealer sealer_;
  record_opener opener_;
};

} // namespace troupe
