// raw_lmdb: LMDB by itself: an environment with one database of growing keys.
#pragma once

#include "bench/harness.hpp"

#include <lmdb.h>

#include <filesystem>

namespace troupe::bench {

/// Errors: members throw std::runtime_error.
class raw_lmdb {
public:
  static constexpr std::size_t map_bytes = std::size_t{16} << 30; // sparse
  static constexpr std::size_t record_bytes = 1024;
  static constexpr std::size_t small_record_bytes = 120;

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

  /// One transaction of `count` records, after all others.
  void commit(std::size_t count) {
    transact(count, [this](MDB_txn* txn, MDB_dbi database, std::size_t) {
      return put(txn, database, big_endian(++last_), record_bytes, MDB_APPEND);
    });
  }

  /// One transaction of one small record after the last one of each of `places`.
  void commit_to_places(std::size_t places, std::uint64_t round) {
    transact(places, [this, round](MDB_txn* txn, MDB_dbi database, std::size_t place) {
      return put(txn, database, big_endian(place) + big_endian(round), small_record_bytes, 0);
    });
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

  template <class Put> void transact(std::size_t count, Put put_one) {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    MDB_dbi database = 0;
    auto code = mdb_dbi_open(txn, nullptr, 0, &database);
    for (std::size_t i = 0; i < count && code == MDB_SUCCESS; ++i)
      code = put_one(txn, database, i);
    if (code == MDB_SUCCESS)
      code = mdb_txn_commit(txn);
    else
      mdb_txn_abort(txn);
    check(code);
  }

  int put(MDB_txn* txn, MDB_dbi database, std::string key, std::size_t bytes, unsigned flags) {
    MDB_val k{key.size(), key.data()};
    MDB_val data{bytes, record_.data()};
    return mdb_put(txn, database, &k, &data, flags);
  }

  static std::string big_endian(std::uint64_t number) {
    std::string out(8, '\0');
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<char>(number >> (8 * (7 - i)));
    return out;
  }

  MDB_env* env_ = nullptr;
  std::string record_;
  std::uint64_t last_ = 0;
};

} // namespace troupe::bench
