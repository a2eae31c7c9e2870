// What a store of this process needs of the place where its items are: snapshots to read from, and
// changes. local_store does all the rest.
#pragma once

#include "persistence/store/store_batch.hpp"
#include "persistence/store/vector_index.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace troupe {

/// An item as it is kept.
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

/// Whether an item that was read has times that a put can have stored.
bool times_fit(const stored_item& item) noexcept;

/// The items as they are at one moment, at the latest when they are first asked for.
/// Thread: one at a time.
/// Errors: of all members storage codes.
class store_snapshot {
public:
  virtual ~store_snapshot() = default;

  virtual result<std::optional<stored_item>> find(const store_namespace& space,
                                                  const std::string& key) = 0;
  /// The items that puts with vectors stored, each unless it is gone. Order: as their numbers.
  virtual result<std::vector<std::optional<stored_item>>>
  find(std::span<const std::uint64_t> numbers) = 0;
  /// Those of the numbers whose items are gone.
  virtual result<std::vector<std::uint64_t>> missing(std::span<const std::uint64_t> numbers) = 0;
  /// The number of the last put there was.
  virtual result<std::uint64_t> last_number() = 0;

  /// The items under a prefix, in order, until `take` says no.
  using take_item = std::function<result<bool>(const stored_item&)>;
  virtual result<void> each(const store_namespace& prefix, const take_item& take) = 0;
  /// The namespaces with an item that is not over, in no order.
  virtual result<std::vector<store_namespace>> namespaces(std::int64_t now) = 0;
  /// The numbers by which the vectors of all namespaces under a prefix are grouped.
  virtual result<vector_groups> groups(const store_namespace& prefix) = 0;
  /// The vectors of `dims` that came after a number. What is no vector is left out. A backend may
  /// give each only once.
  using take_vector =
    std::function<void(std::uint64_t number, std::uint64_t group, std::span<const float>)>;
  virtual result<void> vectors_after(std::uint64_t number, std::size_t dims,
                                     const take_vector& take) = 0;
};

/// A change, done by commit(). Nobody else changes anything meanwhile.
/// Errors: of all members storage codes.
class store_change {
public:
  virtual ~store_change() = default;

  /// Stores an item in the place of the one that is there; what was not over keeps when it was
  /// created. Its number is given to it.
  virtual result<void> put(stored_item item, const prepared_put& what) = 0;
  virtual result<void> remove(const store_namespace& space, const std::string& key) = 0;
  /// Sets the end of an item that was not put anew and is not over.
  virtual result<void> refresh(const stored_item& item, std::int64_t now, std::int64_t end) = 0;
  /// Removes items that are over, the first ones first, at most `count`, and says how many.
  virtual result<std::size_t> sweep(std::int64_t now, std::size_t count) = 0;
  virtual result<void> commit() = 0;
  /// The numbers of items with vectors that are gone.
  const std::vector<std::uint64_t>& gone() const noexcept { return gone_; }

protected:
  std::vector<std::uint64_t> gone_;
};

class store_backend {
public:
  virtual ~store_backend() = default;

  /// Lets `work` look at a snapshot. `work` is done again when it has to be.
  using read_work = std::function<result<void>(store_snapshot&)>;
  virtual result<void> read(const read_work& work) = 0;

  /// Lets `work` make a change and commits it, perhaps along with others' changes, on another
  /// thread that waits for one. `work` is done again when it has to be.
  /// Shape:  `frees`: nothing is put, so a store that is full has room for it all the same.
  using change_work = std::function<result<void>(store_change&)>;
  virtual result<std::vector<std::uint64_t>> change(bool frees, const change_work& work) = 0;
};

} // namespace troupe
