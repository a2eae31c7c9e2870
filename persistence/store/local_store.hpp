// local_store: a store of this process. It implements batches, times to live and search over a
// backend.
#pragma once

#include "persistence/store/store_backend.hpp"

#include <atomic>
#include <memory>
#include <shared_mutex>

namespace troupe {

/// Invariants:
///  - A batch reads one snapshot, taken before its change begins.
///  - There is an index if the options have one and the backend does not rank vectors itself.
///  - Once the index has followed a snapshot, it has a vector of every item of the snapshot that
///    has one of its dims. Vectors of items that are gone are noticed when they are looked up.
class local_store final : public store {
public:
  /// Shape:  options that check_store_options() accepts.
  local_store(std::shared_ptr<store_backend> backend, store_options options);

  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override;
  result<std::size_t> sweep(std::size_t items_max) override;

private:
  struct look; // the reads of a batch
  bool sweep_is_due(std::int64_t now) const;
  result<void> change(const prepared_batch& batch, const std::vector<stored_item>& read,
                      std::int64_t now);
  void forget(const std::vector<std::uint64_t>& numbers);
  result<void> follow(store_snapshot& items);
  result<void> forget_lost(store_snapshot& items);

  const std::shared_ptr<store_backend> backend_;
  const store_options options_;
  std::atomic<std::int64_t> last_sweep_;

  std::shared_mutex index_mutex_; // taken while a snapshot is held, never the other way round
  std::optional<vector_index> index_;
  std::uint64_t followed_ = 0;      // the index has the vectors up to this number
  std::size_t checked_size_ = 1000; // the index's size when vectors of removed items were last
                                    // dropped
};

} // namespace troupe
