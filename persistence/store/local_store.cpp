// local_store: batches, searches, and the index that follows the backend.
#include "persistence/store/local_store.hpp"

#include "persistence/record/timestamp_text.hpp"
#include "persistence/store/part_path.hpp"
#include "persistence/store/store_filter.hpp"
#include "persistence/store/store_namespace.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <unordered_set>

namespace troupe {

namespace {

store_item item_of(stored_item&& stored, std::optional<double> score = std::nullopt) {
  return {std::move(stored.space),        std::move(stored.key),          std::move(stored.value),
          timestamp_text(stored.created), timestamp_text(stored.updated), score};
}

bool is_by_meaning(const store_query& query, const std::optional<store_index>& index) {
  return index && !query.query.empty();
}

bool is_before(const stored_item& a, const stored_item& b) {
  return std::tie(a.space, a.key) < std::tie(b.space, b.key);
}

constexpr std::size_t looked_up_max = 256;   // hits in one look-up
constexpr std::size_t compared_max = 10'000; // numbers in one comparison

// Takes the items of a search after its offset, up to its limit.
class found_items {
public:
  found_items(const store_query& query, std::vector<stored_item>* read)
    : limit_{std::min(query.limit, limits::store_results_max)},
      to_skip_{query.offset},
      read_{read} {}

  bool is_full() const noexcept { return found_.size() >= limit_; }
  /// The number of items it takes until it is full, at most looked_up_max.
  std::size_t wanted() const noexcept {
    return std::min(std::min(to_skip_, looked_up_max) + limit_ - found_.size(), looked_up_max);
  }
  void take(stored_item item, std::optional<double> score = std::nullopt) {
    if (to_skip_ > 0) {
      --to_skip_;
      return;
    }
    if (read_ && item.ttl != store_forever)
      read_->push_back(item);
    found_.push_back(item_of(std::move(item), score));
  }
  std::vector<store_item> found() && { return std::move(found_); }

private:
  std::size_t limit_;
  std::size_t to_skip_;
  std::vector<stored_item>* read_;
  std::vector<store_item> found_;
};

std::size_t hoped_for(const store_query& query) {
  auto limit = std::min(query.limit, limits::store_results_max);
  return query.offset > SIZE_MAX - limit ? SIZE_MAX : query.offset + limit;
}

} // namespace

// ---- reading ------------------------------------------------------------------------------------

struct local_store::look {
  local_store& self;
  store_snapshot& items;
  std::int64_t now;
  std::vector<stored_item> read = {};   // items whose times to live restart
  std::vector<std::uint64_t> lost = {}; // numbers that the index has and the snapshot has not

  bool fits(const stored_item& item, const store_query& query) const {
    return !item.is_over(now) && fits_filter(item.value, query.filter);
  }
  std::vector<stored_item>* read_if(const std::optional<bool>& asked) {
    return refreshes_ttl(asked, self.options_) ? &read : nullptr;
  }

  result<store_answer> operator()(const store_put&, const store_vector&) {
    return store_answer{std::monostate{}};
  }

  result<store_answer> operator()(const store_get& op, const store_vector&) {
    auto found = items.find(op.space, op.key);
    if (!found)
      return found.error();
    if (!*found || (*found)->is_over(now))
      return store_answer{std::optional<store_item>{}};
    if (auto* to = read_if(op.refresh_ttl); to && (*found)->ttl != store_forever)
      to->push_back(**found);
    return store_answer{std::optional{item_of(std::move(**found))}};
  }

  result<store_answer> operator()(const namespace_query& query, const store_vector&) {
    auto all = items.namespaces(now);
    if (!all)
      return all.error();
    std::ranges::sort(*all);
    namespace_listing listing{query};
    for (const auto& space : *all)
      listing.take(space);
    return store_answer{std::move(listing).found()};
  }

  result<store_answer> operator()(const store_query& query, const store_vector& vector) {
    found_items found{query, read_if(query.refresh_ttl)};
    auto done = is_by_meaning(query, self.options_.index) ? search_by_meaning(query, vector, found)
                                                          : search_in_order(query, {}, found);
    return done ? result<store_answer>{std::move(found).found()} : done.error();
  }

  result<void> search_in_order(const store_query& query,
                               const std::unordered_set<std::uint64_t>& but, found_items& found) {
    if (found.is_full())
      return {};
    return items.each(query.prefix, [&](const stored_item& item) -> result<bool> {
      if (fits(item, query) && !but.contains(item.number))
        found.take(item);
      return !found.is_full();
    });
  }

  result<void> search_by_meaning(const store_query& query, const store_vector& vector,
                                 found_items& found) {
    auto begun = std::pair{found, read.size()};
    std::unordered_set<std::uint64_t> seen;
    auto ranking = rank(query, vector, hoped_for(query));
    if (!ranking)
      return ranking.error();
    auto taken = take_ranked(query, **ranking, seen, found);
    if (taken && !found.is_full() && !(*ranking)->is_complete()) {
      found = begun.first;
      read.resize(begun.second);
      seen.clear();
      ranking = rank(query, vector, SIZE_MAX);
      if (!ranking)
        return ranking.error();
      taken = take_ranked(query, **ranking, seen, found);
    }
    return taken ? search_in_order(query, seen, found) : taken;
  }

  // The index in memory, or else the backend, ranks. A `count` of SIZE_MAX: exactly.
  result<std::unique_ptr<vector_hits>> rank(const store_query& query, const store_vector& vector,
                                            std::size_t count) {
    if (!self.index_)
      return items.rank(vector, query.prefix, count);
    if (auto followed = self.follow(items); !followed)
      return followed.error();
    std::optional<vector_groups> groups;
    if (!query.prefix.empty()) {
      auto under = items.groups(query.prefix);
      if (!under)
        return under.error();
      groups = std::move(*under);
    }
    const auto* wanted = groups ? &*groups : nullptr;
    std::shared_lock lock{self.index_mutex_};
    return std::unique_ptr<vector_hits>{
      std::make_unique<ranked_hits>(count == SIZE_MAX ? self.index_->rank_exactly(vector, wanted)
                                                      : self.index_->rank(vector, wanted, count))};
  }

  // Takes hits in order of their scores; the first vector of an item counts, because it is the
  // closest. As many hits are looked up at once as may be wanted, then more when those did not fit.
  // With a remote backend, each look-up takes time.
  result<void> take_ranked(const store_query& query, vector_hits& ranking,
                           std::unordered_set<std::uint64_t>& seen, found_items& found) {
    auto last = items.last_number();
    if (!last)
      return last.error();
    for (auto count = found.wanted(); !found.is_full();
         count = std::min(2 * count, looked_up_max)) {
      auto next = next_hits(ranking, count, seen);
      if (!next)
        return next.error();
      const auto& hits = *next;
      if (hits.empty())
        break;
      std::vector<std::uint64_t> numbers;
      for (const auto& hit : hits)
        numbers.push_back(hit.number);
      auto there = items.find(numbers);
      if (!there)
        return there.error();
      take_alike(query, hits, *there, found);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (!(*there)[i] && numbers[i] <= *last)
          lost.push_back(numbers[i]);
    }
    return {};
  }

  // At least `count` hits of unseen numbers, if there are as many; hits of equal score stay
  // together.
  static result<std::vector<vector_hit>> next_hits(vector_hits& ranking, std::size_t count,
                                                   std::unordered_set<std::uint64_t>& seen) {
    std::vector<vector_hit> out;
    while (out.size() < count) {
      auto alike = ranking.next();
      if (!alike)
        return alike.error();
      if (alike->empty())
        break;
      std::ranges::copy_if(*alike, std::back_inserter(out), [&seen](const vector_hit& hit) {
        return seen.insert(hit.number).second;
      });
    }
    return out;
  }

  // Takes the hits; items that are equally close are sorted by namespace and key.
  void take_alike(const store_query& query, const std::vector<vector_hit>& hits,
                  std::vector<std::optional<stored_item>>& there, found_items& found) const {
    for (std::size_t i = 0; i < hits.size() && !found.is_full();) {
      auto score = hits[i].score;
      std::vector<stored_item> alike;
      for (; i < hits.size() && hits[i].score == score; ++i)
        if (auto& item = there[i];
            item && is_under(item->space, query.prefix) && fits(*item, query))
          alike.push_back(std::move(*item));
      std::ranges::sort(alike, is_before);
      for (auto& item : alike)
        if (!found.is_full())
          found.take(std::move(item), static_cast<double>(score));
    }
  }
};

// ---- the index ----------------------------------------------------------------------------------

// The lock is taken before the first read. So a thread that waits for it keeps no transaction open,
// unless its batch has read something before.
result<void> local_store::follow(store_snapshot& items) {
  std::unique_lock lock{index_mutex_};
  auto last = items.last_number();
  if (!last)
    return last.error();
  if (followed_ < *last) {
    std::vector<std::uint64_t> added;
    auto followed = items.vectors_after(followed_, index_->dims(),
                                        [&](auto number, auto group, auto vector) {
                                          index_->add(number, group, vector);
                                          added.push_back(number);
                                        });
    if (!followed) {
      for (auto number : added) // they come again
        index_->remove(number);
      return followed;
    }
    followed_ = *last;
    if (auto ok = forget_lost(items); !ok)
      return ok;
  }
  index_->settle();
  return {};
}

// Drops vectors of items that other processes removed, each time the index has doubled.
result<void> local_store::forget_lost(store_snapshot& items) {
  if (index_->size() < 2 * checked_size_)
    return {};
  const auto numbers = index_->numbers();
  for (std::size_t i = 0; i < numbers.size(); i += compared_max) {
    auto gone =
      items.missing(std::span{numbers}.subspan(i, std::min(compared_max, numbers.size() - i)));
    if (!gone)
      return gone.error();
    for (auto number : *gone)
      index_->remove(number);
  }
  checked_size_ = std::max<std::size_t>(index_->size(), 1000);
  return {};
}

void local_store::forget(const std::vector<std::uint64_t>& numbers) {
  if (!index_ || numbers.empty())
    return;
  std::unique_lock lock{index_mutex_};
  for (auto number : numbers)
    index_->remove(number);
}

// ---- the store ----------------------------------------------------------------------------------

local_store::local_store(std::shared_ptr<store_backend> backend, store_options options)
  : backend_{std::move(backend)},
    options_{std::move(options)},
    last_sweep_{store_now_micros(options_)} {
  if (options_.index && !backend_->ranks_vectors())
    index_.emplace(options_.index->dims, options_.index->distance, options_.index->exact_max);
}

result<std::vector<store_answer>> local_store::batch(const std::vector<store_op>& ops) {
  auto prepared = prepare_batch(ops, options_);
  if (!prepared)
    return prepared.error();
  auto now = store_now_micros(options_);
  std::vector<store_answer> answers;
  std::vector<stored_item> read;
  auto looked = backend_->read([&](store_snapshot& items) -> result<void> {
    answers.clear();
    look at{*this, items, now};
    for (std::size_t i = 0; i < ops.size(); ++i) {
      auto answer = std::visit([&](const auto& op) { return at(op, prepared->queries[i]); },
                               ops[i]);
      if (!answer)
        return answer.error();
      answers.push_back(std::move(*answer));
    }
    read = std::move(at.read);
    forget(at.lost);
    return {};
  });
  if (!looked)
    return looked.error();
  if (auto changed = change(*prepared, read, now); !changed)
    return changed.error();
  return answers;
}

bool local_store::sweep_is_due(std::int64_t now) const {
  if (options_.ttl.sweep_interval == store_forever)
    return false;
  auto wait =
    std::chrono::microseconds{std::min(options_.ttl.sweep_interval, limits::store_ttl_max)};
  auto last = last_sweep_.load();
  return now < last || now - last >= wait.count();
}

result<void> local_store::change(const prepared_batch& batch, const std::vector<stored_item>& read,
                                 std::int64_t now) {
  if (batch.puts.empty() && read.empty())
    return {};
  auto sweeps = !batch.puts.empty() && sweep_is_due(now);
  auto frees = std::ranges::all_of(batch.puts,
                                   [](const prepared_put& put) { return put.op->value.is_null(); });
  auto gone = backend_->change(frees, [&](store_change& to) -> result<void> {
    if (sweeps)
      if (auto swept = to.sweep(now, limits::store_sweep_items_max); !swept)
        return swept.error();
    for (const auto& item : read)
      if (auto ok = to.refresh(item, now, store_end_micros(now, item.ttl)); !ok)
        return ok;
    for (const auto& put : batch.puts) {
      const auto& op = *put.op;
      auto ok = op.value.is_null() ? to.remove(op.space, op.key)
                                   : to.put({.number = 0,
                                             .space = op.space,
                                             .key = op.key,
                                             .value = op.value,
                                             .created = now,
                                             .updated = now,
                                             .ttl = put.ttl,
                                             .end = store_end_micros(now, put.ttl)},
                                            put);
      if (!ok)
        return ok;
    }
    return {};
  });
  if (!gone)
    return gone.error();
  if (sweeps)
    last_sweep_ = now;
  forget(*gone);
  return {};
}

// In several pieces, so that puts get their turn.
result<std::size_t> local_store::sweep(std::size_t items_max) {
  auto now = store_now_micros(options_);
  std::size_t all = 0;
  while (all < items_max) {
    auto piece = std::min(items_max - all, limits::store_sweep_items_max);
    std::size_t swept = 0;
    auto gone = backend_->change(true, [&](store_change& to) -> result<void> {
      auto some = to.sweep(now, piece);
      if (!some)
        return some.error();
      swept = *some;
      return {};
    });
    if (!gone)
      return gone.error();
    forget(*gone);
    all += swept;
    if (swept < piece) {
      last_sweep_ = now;
      break;
    }
  }
  return all;
}

} // namespace troupe
