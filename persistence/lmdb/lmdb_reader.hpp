// lmdb_reader: reads threads and checkpoints in one read transaction.
#pragma once

#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/lmdb/value_cache.hpp"
#include "persistence/lmdb/value_finder.hpp"
#include "persistence/record/checkpoint_record.hpp"

#include <troupe/saver.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A view of the store at one moment.
/// Thread: one at a time. Blocks: on page faults.
/// Errors: (of all members) checkpoint_corrupt, format_too_new, key_missing, storage_failed.
class lmdb_reader {
public:
  /// `keys` and `cache` may be null, and must outlive the reader.
  explicit lmdb_reader(const lmdb_txn& txn, const key_provider* keys = nullptr,
                       value_cache* cache = nullptr)
    : txn_{txn},
      records_{txn, keys},
      cache_{cache} {}

  /// `only` lists the channels, sorted, whose values are read; null: all channels.
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref,
                                                    const std::vector<std::string>* only = nullptr);
  result<std::vector<checkpoint_tuple>> list(const list_query& query);
  /// 0 for a thread without one.
  result<std::uint64_t> thread_owner(const std::string& thread_id);
  result<std::vector<thread_info>> threads();
  result<std::vector<owned_thread>> owners();
  /// As saver::get_delta_channel_history. Reads only values of `channels`.
  result<named<delta_history>> delta_histories(const checkpoint_ref& ref,
                                               const std::vector<std::string>& channels);

private:
  using names_view = std::vector<std::string_view>;
  /// A thread that is being read.
  struct open_thread {
    std::string_view id;
    std::uint64_t number = 0;
    names_view names;
  };
  /// A checkpoint's id and its undecoded record.
  struct found_checkpoint {
    std::string id;
    std::string_view payload;
  };

  result<open_thread> open(std::string_view thread_id, std::uint64_t number);
  result<std::optional<found_checkpoint>> find(std::uint64_t chain, const std::string& id);
  result<std::optional<found_checkpoint>> newest(std::uint64_t chain);
  result<std::optional<checkpoint_tuple>>
  read_tuple(const open_thread& thread, const namespace_entry& at, found_checkpoint found,
             const value& filter, const std::vector<std::string>* only = nullptr);
  result<void> read_values(std::uint64_t chain, std::span<const std::uint32_t> channels,
                           std::string_view own, checkpoint& cp,
                           const std::vector<std::string>* only = nullptr);
  result<std::optional<value>> read_value(std::uint64_t chain, const version& at,
                                          std::uint32_t channel);
  result<value> read_record(std::uint64_t chain, std::uint32_t channel, version at,
                            std::string_view stored);
  result<std::optional<checkpoint_tuple>> read_ancestor(const open_thread& thread,
                                                        std::uint64_t chain, const std::string& id,
                                                        const std::vector<std::string>& channels);
  result<std::vector<pending_write>> read_pending(const names_view& names, std::uint64_t chain,
                                                  const std::string& checkpoint_id);
  result<void> list_thread(const list_query& query, const open_thread& thread,
                           std::vector<checkpoint_tuple>& found);
  result<void> list_chain(const list_query& query, const open_thread& thread,
                          const namespace_entry& at, std::vector<checkpoint_tuple>& found);
  result<void> describe(thread_info& info, std::uint64_t number);

  struct value_place {
    std::uint64_t chain;
    std::uint32_t channel;
    version at;
    friend auto operator<=>(const value_place&, const value_place&) = default;
  };

  const lmdb_txn& txn_;
  thread_records records_;
  value_finder values_{records_};
  std::vector<small_value> own_values_; // in the record of the checkpoint that is being read
  value_cache* const cache_;
  /// Values from patches, kept while many checkpoints are read; the next value may build on them.
  std::map<value_place, value> patched_;
  bool keeps_patched_ = false;
};

} // namespace troupe
