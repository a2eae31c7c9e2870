// Section F: what a write transaction of LMDB costs by itself.

#include "bench/harness.hpp"

#include <lmdb.h>

#include <array>
#include <optional>

namespace troupe::bench {

namespace {

constexpr std::size_t map_bytes = std::size_t{16} << 30; // sparse
constexpr std::size_t record_bytes = 1024;

void check(int code) {
  if (code != MDB_SUCCESS)
    throw std::runtime_error{"write a record: " + std::string{mdb_strerror(code)}};
}

/// An open environment with one database of growing keys.
class environment {
public:
  environment(const std::filesystem::path& dir, unsigned flags) : record_(record_bytes, 'x') {
    check(mdb_env_create(&env_));
    mdb_env_set_mapsize(env_, map_bytes);
    auto code = mdb_env_open(env_, dir.c_str(), flags, 0600);
    if (code != MDB_SUCCESS) {
      mdb_env_close(env_);
      check(code);
    }
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  ~environment() { mdb_env_close(env_); }

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

figure commit(const sampler& sample, std::size_t records, unsigned flags) {
  scratch_dir dir;
  environment store{dir.path(), flags};
  return sample.batches([&store, records] { store.commit(records); },
                        [&store] {
                          expect(store.records() == store.put_so_far(), "the number of records");
                        });
}

} // namespace

void add_storage_floors(workloads& all) {
  all.push_back(
    {"floor_lmdb_commit_durable_1x1KiB", [](const sampler& s) { return commit(s, 1, 0); }});
  all.push_back(
    {"floor_lmdb_commit_durable_100x1KiB", [](const sampler& s) { return commit(s, 100, 0); }});
  all.push_back(
    {"floor_lmdb_commit_nosync_1x1KiB", [](const sampler& s) { return commit(s, 1, MDB_NOSYNC); }});
}

} // namespace troupe::bench
