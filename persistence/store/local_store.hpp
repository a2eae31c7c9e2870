// A store of this process: the semantics of batches, times to live and search, over a backend.
#pragma once

#include "persistence/store/store_backend.hpp"

#include <atomic>
#include <memory>
#include <shared_mutex>

namespace troupe {

/// Invariants:
///  - A batch looks at one snapshot, taken before its change begins.
///  - The index has a vector of every item of a snapshot that has one of its dims, once it has
///    followed the snapshot; what it has beyond those is found out when it is looked for.
class local_store final : public store {
public:
  /// Shape:  options that check_store_options takes.
  local_store(std::shared_ptr<store_backend> backend, store_options options);

  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override;
  result<std::size_t> sweep(std::size_t items_max) override;

private:
  struct look; // what a batch reads
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
  std::uint64_t followed_ = 0;      // the number up to which the index has the vectors
  std::size_t checked_size_ = 1000; // the index's, when it was last rid of what is gone
};

} // namespace troupe
