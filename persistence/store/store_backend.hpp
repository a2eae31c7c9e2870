// store_backend: the interface between local_store and the place where the items are kept. A
// backend gives snapshots to read from, and makes changes; local_store does everything else.
#pragma once

#include "persistence/store/store_batch.hpp"
#include "persistence/store/vector_index.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace troupe {

/// An item as a backend keeps it.
struct stored_item {
  std::uint64_t number = 0; // of the put that stored it: grows, and is never given twice
  store_namespace space;
  std::string key;
  troupe::value value;
  std::int64_t created = 0; // microseconds since 1970, as all times here
  std::int64_t updated = 0;
  store_ttl ttl = store_forever;
  std::int64_t end = store_no_end;

  bool is_over(std::int64_t now) const noexcept { return end <= now; }
};

/// Whether the times of an item that was read are ones that a put can have stored.
bool times_fit(const stored_item& item) noexcept;

/// Vectors by score, from the best to the worst.
/// Thread: one at a time.
class vector_hits {
public:
  virtual ~vector_hits() = default;
  /// The next hits, all of one score; empty at the end.
  /// Errors: storage codes.
  virtual result<std::vector<vector_hit>> next() = 0;
  /// Whether no vector was left out.
  virtual bool is_complete() const noexcept = 0;
};

/// Hits in memory.
class ranked_hits final : public vector_hits {
public:
  explicit ranked_hits(vector_ranking ranking) : ranking_{std::move(ranking)} {}
  result<std::vector<vector_hit>> next() override { return ranking_.next(); }
  bool is_complete() const noexcept override { return ranking_.is_complete(); }

private:
  vector_ranking ranking_;
};

/// The items at one moment, which is at the latest that of the first read.
/// Thread: one at a time.
/// Errors: of all members storage codes.
class store_snapshot {
public:
  virtual ~store_snapshot() = default;

  virtual result<std::optional<stored_item>> find(const store_namespace& space,
                                                  const std::string& key) = 0;
  /// The items that puts with vectors stored under these numbers; nullopt for an item that is gone.
  /// Order: as the numbers.
  virtual result<std::vector<std::optional<stored_item>>>
  find(std::span<const std::uint64_t> numbers) = 0;
  /// The numbers among these whose items are gone.
  virtual result<std::vector<std::uint64_t>> missing(std::span<const std::uint64_t> numbers) = 0;
  /// The number of the last put.
  virtual result<std::uint64_t> last_number() = 0;

  /// Passes the items under a prefix to `take`, in order, until it returns false.
  using take_item = std::function<result<bool>(const stored_item&)>;
  virtual result<void> each(const store_namespace& prefix, const take_item& take) = 0;
  /// The namespaces with an item that has not expired, in any order.
  virtual result<std::vector<store_namespace>> namespaces(std::int64_t now) = 0;
  /// The numbers of the groups that hold the vectors of all namespaces under a prefix.
  virtual result<vector_groups> groups(const store_namespace& prefix) = 0;
  /// The vectors of `dims` that came after a number. Damaged ones are left out. A backend may give
  /// each vector only once.
  using take_vector =
    std::function<void(std::uint64_t number, std::uint64_t group, std::span<const float>)>;
  virtual result<void> vectors_after(std::uint64_t number, std::size_t dims,
                                     const take_vector& take) = 0;
  /// The vectors under a prefix by their closeness to a query, at this moment. Only a backend that
  /// ranks vectors is asked. Valid until the next call.
  /// Units:  `count`: how many hits the caller expects to use; SIZE_MAX: none may be left out.
  virtual result<std::unique_ptr<vector_hits>> rank(std::span<const float> query,
                                                    const store_namespace& prefix,
                                                    std::size_t count) {
    static_cast<void>(query), static_cast<void>(prefix), static_cast<void>(count);
    return std::unique_ptr<vector_hits>{std::make_unique<ranked_hits>(vector_ranking{{}, true})};
  }
};

/// A change, made by commit(). Nothing else changes the store meanwhile.
/// Errors: of all members storage codes.
class store_change {
public:
  virtual ~store_change() = default;

  /// Stores an item in place of an earlier one. An earlier item that has not expired passes on its
  /// time of creation. The new item gets a number.
  virtual result<void> put(stored_item item, const prepared_put& what) = 0;
  virtual result<void> remove(const store_namespace& space, const std::string& key) = 0;
  /// Sets the end of an item, unless it was stored anew or has expired.
  virtual result<void> refresh(const stored_item& item, std::int64_t now, std::int64_t end) = 0;
  /// Removes expired items, those that expired first at first, at most `count`. Returns their
  /// number.
  virtual result<std::size_t> sweep(std::int64_t now, std::size_t count) = 0;
  virtual result<void> commit() = 0;
  /// The numbers of removed items with vectors.
  const std::vector<std::uint64_t>& gone() const noexcept { return gone_; }

protected:
  std::vector<std::uint64_t> gone_;
};

class store_backend {
public:
  virtual ~store_backend() = default;

  /// Calls `work` with a snapshot. `work` may be called again.
  using read_work = std::function<result<void>(store_snapshot&)>;
  virtual result<void> read(const read_work& work) = 0;

  /// Calls `work` with a change and commits the change, perhaps together with other threads'
  /// changes, on one of these threads. `work` may be called again.
  /// Shape:  `frees`: nothing is put, so even a full store has room for the change.
  using change_work = std::function<result<void>(store_change&)>;
  virtual result<std::vector<std::uint64_t>> change(bool frees, const change_work& work) = 0;

  /// Whether its snapshots rank vectors. If not, local_store has an index in memory.
  virtual bool ranks_vectors() const noexcept { return false; }
};

} // namespace troupe
