// LMDB by itself: an environment with one database of growing keys.
#pragma once

#include "bench/harness.hpp"

#include <lmdb.h>

#include <array>

namespace troupe::bench {

/// Errors: members throw std::runtime_error.
class raw_lmdb {
public:
  static constexpr std::size_t map_bytes = std::size_t{16} << 30; // sparse
  static constexpr std::size_t record_bytes = 1024;

  explicit raw_lmdb(const std::filesystem::path& dir, unsigned flags = 0)
    : record_(record_bytes, 'x') {
    check(mdb_env_create(&env_));
    mdb_env_set_mapsize(env_, map_bytes);
    auto code = mdb_env_open(env_, dir.c_str(), flags, 0600);
    if (code != MDB_SUCCESS) {
      mdb_env_close(env_);
      check(code);
    }
  }
  raw_lmdb(const raw_lmdb&) = delete;
  raw_lmdb& operator=(const raw_lmdb&) = delete;
  ~raw_lmdb() { mdb_env_close(env_); }

  /// One transaction of `count` records.
  void commit(std::size_t count) {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    MDB_dbi database = 0;
    auto code = mdb_dbi_open(txn, nullptr, 0, &database);
    for (std::size_t i = 0; i < count && code == MDB_SUCCESS; ++i)
      code = put(txn, database);
    if (code == MDB_SUCCESS)
      code = mdb_txn_commit(txn);
    else
      mdb_txn_abort(txn);
    check(code);
  }

  std::size_t records() const {
    MDB_stat about{};
    check(mdb_env_stat(env_, &about));
    return about.ms_entries;
  }
  std::size_t put_so_far() const noexcept { return last_; }

private:
  static void check(int code) {
    if (code != MDB_SUCCESS)
      throw std::runtime_error{"write a record: " + std::string{mdb_strerror(code)}};
  }

  int put(MDB_txn* txn, MDB_dbi database) {
    ++last_;
    std::array<unsigned char, 8> big_endian{};
    for (std::size_t i = 0; i < big_endian.size(); ++i)
      big_endian[i] = static_cast<unsigned char>(last_ >> (8 * (7 - i)));
    MDB_val key{big_endian.size(), big_endian.data()};
    MDB_val data{record_.size(), record_.data()};
    return mdb_put(txn, database, &key, &data, MDB_APPEND);
  }

  MDB_env* env_ = nullptr;
  std::string record_;
  std::uint64_t last_ = 0;
};

} // namespace troupe::bench
