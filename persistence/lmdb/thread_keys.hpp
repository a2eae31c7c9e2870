// thread_keys: data keys of threads. Each thread has its own, stored encrypted under a key of the
// key ring.
//
// Invariants:
//  - A thread with a data key stores new data encrypted, except its number, its owner and the names
//    of its namespaces. Without the key in the ring the thread is neither read nor written.
//  - The data key is deleted with the thread, in the same transaction. This needs no ring.
#pragma once

#include "persistence/lmdb/data_key.hpp"

#include <troupe/keyring.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// As find_cipher and make_cipher, for a thread.
result<std::optional<aes_gcm>> find_thread_cipher(const lmdb_txn& txn, std::uint64_t thread,
                                                  const key_provider* keys);
result<aes_gcm> make_thread_cipher(lmdb_txn& txn, std::uint64_t thread, const key_provider& keys);

/// The time after which a transaction of rewrapped keys ends, so that other requests do not wait
/// for a slow key provider.
inline constexpr std::chrono::milliseconds rewrapping_max{50};

/// The numbers of all threads.
result<std::vector<std::uint64_t>> all_thread_numbers(const lmdb_txn& txn);

/// Wraps the data keys of these threads under the provider's current key, whose id is `current`.
/// Skips plain threads and missing ones. Removes the threads that are done from the front of
/// `threads`: at least one, and as many as rewrapping_max allows.
/// Errors: as find_cipher, and storage_full.
result<rotation_report> rewrap_thread_keys(lmdb_txn& txn, std::span<const std::uint64_t>& threads,
                                           const key_provider& keys, std::string_view current);

/// Opens the records of one thread after another in a transaction. Looks a thread's data key up at
/// the first record that needs it.
/// Thread: one at a time.
class thread_records {
public:
  thread_records(const lmdb_txn& txn, const key_provider* keys);

  /// Begins a thread: the next records belong to it.
  void enter(std::uint64_t thread);

  /// As record_opener::open.
  /// Errors: also those of find_cipher.
  result<std::string_view> open(std::string_view stored, std::string_view key, record_kind kind);

  /// The names of the thread's channels and nodes, by number.
  /// Owns:   nothing; they are valid as long as the result of open().
  result<std::vector<std::string_view>> names();

  const lmdb_txn& txn() const noexcept { return txn_; }

  /// Records opened after this are released at the scope's end.
  record_opener::scope scope() noexcept { return record_opener::scope{opener_}; }

private:
  const lmdb_txn& txn_;
  const key_provider* keys_;
  std::uint64_t thread_ = 0;
  data_cipher cipher_; // of thread_
  record_opener opener_;
};

} // namespace troupe
