// The data keys of threads: each has one of its own, stored encrypted under a key of the key ring.
//
// Invariants:
//  - A thread that has a data key stores nothing but its number, its owner and the names of its
//    namespaces in plain any more; without the key in the ring it is neither read nor written.
//  - The data key is deleted with the thread, in the same transaction, and needs no ring for that.
#pragma once

#include "persistence/lmdb/data_key.hpp"

#include <troupe/keyring.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// As find_cipher and make_cipher, of a thread.
result<std::optional<aes_gcm>> find_thread_cipher(const lmdb_txn& txn, std::uint64_t thread,
                                                  const keyring* keys);
result<aes_gcm> make_thread_cipher(lmdb_txn& txn, std::uint64_t thread, const keyring& keys);

/// How many threads are rewrapped in one transaction: others wait for some ms.
inline constexpr std::size_t rewrapped_at_once = 500;

/// The numbers of all threads.
result<std::vector<std::uint64_t>> all_thread_numbers(const lmdb_txn& txn);

/// Wraps the data keys of these threads under the ring's current key; plain threads, and those that
/// are gone, are passed over.
/// Errors: as find_cipher, and storage_full.
result<rotation_report> rewrap_thread_keys(lmdb_txn& txn, std::span<const std::uint64_t> threads,
                                           const keyring& keys);

/// Opens the records of one thread after another in a transaction. A thread's data key is looked up
/// when the first of its records is met that needs it.
/// Thread: one at a time.
class thread_records {
public:
  thread_records(const lmdb_txn& txn, const keyring* keys);

  /// The records that follow are of this thread.
  void enter(std::uint64_t thread);

  /// As record_opener::open.
  /// Errors: also those of find_cipher.
  result<std::string_view> open(std::string_view stored, std::string_view key, record_kind kind);

  /// The names of the thread's channels and nodes, by number.
  /// Owns:   nothing; they are there as long as what open() gives.
  result<std::vector<std::string_view>> names();

  const lmdb_txn& txn() const noexcept { return txn_; }

  /// What is opened from here on is given back at the scope's end.
  record_opener::scope scope() noexcept { return record_opener::scope{opener_}; }

private:
  const lmdb_txn& txn_;
  const keyring* keys_;
  std::uint64_t thread_ = 0;
  data_cipher cipher_; // of thread_
  record_opener opener_;
};

} // namespace troupe
