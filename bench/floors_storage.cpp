// floors_storage (section F): the cost of a write transaction of LMDB by itself.

#include "bench/raw_lmdb.hpp"

namespace troupe::bench {

namespace {

figure commit(const sampler& sample, std::size_t records, unsigned flags) {
  scratch_dir dir;
  raw_lmdb store{dir.path(), flags};
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
