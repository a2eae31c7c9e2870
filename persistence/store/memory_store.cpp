// memory_store: the store in memory, as one ordered map of namespaces, each of them a map of keys.
// Values are handles.
//
// Invariants:
//  - A namespace exists only while it has a key.
//  - `places_` has the items that came with vectors, `ends_` those that end.
//  - Vectors are handed to the index once, and not kept here.
#include "persistence/store/local_store.hpp"
#include "persistence/store/part_path.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

namespace troupe {

namespace {

struct memory_space {
  std::uint64_t number = 0;
  std::map<std::string, stored_item> items;
};

struct fresh_vectors {
  std::uint64_t group = 0;
  std::vector<store_vector> vectors;
};

using item_place = std::pair<store_namespace, std::string>;

class memory_backend final : public store_backend {
public:
  result<void> read(const read_work& work) override;
  result<std::vector<std::uint64_t>> change(bool frees, const change_work& work) override;

private:
  friend class memory_snapshot;
  friend class memory_change;

  const stored_item* find(const store_namespace& space, const std::string& key) const {
    auto in = spaces_.find(space);
    if (in == spaces_.end())
      return nullptr;
    auto at = in->second.items.find(key);
    return at == in->second.items.end() ? nullptr : &at->second;
  }

  std::shared_mutex mutex_;
  std::map<store_namespace, memory_space> spaces_;
  std::unordered_map<std::uint64_t, item_place> places_;
  std::map<std::pair<std::int64_t, std::uint64_t>, item_place> ends_;
  std::map<std::uint64_t, fresh_vectors> fresh_;
  std::uint64_t last_number_ = 0; // of items and namespaces
};

// ---- reading ------------------------------------------------------------------------------------

class memory_snapshot final : public store_snapshot {
public:
  explicit memory_snapshot(memory_backend& from) : from_{from}, lock_{from.mutex_} {}

  result<std::optional<stored_item>> find(const store_namespace& space,
                                          const std::string& key) override {
    const auto* item = from_.find(space, key);
    return item ? std::optional{*item} : std::nullopt;
  }

  result<std::vector<std::optional<stored_item>>>
  find(std::span<const std::uint64_t> numbers) override {
    std::vector<std::optional<stored_item>> found;
    for (auto number : numbers) {
      auto at = from_.places_.find(number);
      const auto* item =
        at == from_.places_.end() ? nullptr : from_.find(at->second.first, at->second.second);
      found.push_back(item ? std::optional{*item} : std::nullopt);
    }
    return found;
  }

  result<std::vector<std::uint64_t>> missing(std::span<const std::uint64_t> numbers) override {
    std::vector<std::uint64_t> gone;
    std::ranges::copy_if(numbers, std::back_inserter(gone),
                         [this](auto number) { return !from_.places_.contains(number); });
    return gone;
  }

  result<std::uint64_t> last_number() override { return from_.last_number_; }

  result<void> each(const store_namespace& prefix, const take_item& take) override {
    for (auto in = from_.spaces_.lower_bound(prefix);
         in != from_.spaces_.end() && is_under(in->first, prefix); ++in)
      for (const auto& [key, item] : in->second.items) {
        auto more = take(item);
        if (!more || !*more)
          return more ? result<void>{} : more.error();
      }
    return {};
  }

  result<std::vector<store_namespace>> namespaces(std::int64_t now) override {
    std::vector<store_namespace> found;
    for (const auto& [space, in] : from_.spaces_)
      if (std::ranges::any_of(in.items, [now](const auto& at) { return !at.second.is_over(now); }))
        found.push_back(space);
    return found;
  }

  result<vector_groups> groups(const store_namespace& prefix) override {
    vector_groups found;
    for (auto in = from_.spaces_.lower_bound(prefix);
         in != from_.spaces_.end() && is_under(in->first, prefix); ++in)
      found.insert(in->second.number);
    return found;
  }

  // Only the store's own index calls this, so vectors that were handed over can be dropped.
  result<void> vectors_after(std::uint64_t, std::size_t, const take_vector& take) override {
    for (const auto& [number, fresh] : std::exchange(from_.fresh_, {}))
      for (const auto& vector : fresh.vectors)
        take(number, fresh.group, vector);
    return {};
  }

private:
  memory_backend& from_;
  std::shared_lock<std::shared_mutex> lock_;
};

// ---- changing -----------------------------------------------------------------------------------

class memory_change final : public store_change {
public:
  explicit memory_change(memory_backend& to) : to_{to} {}

  result<void> put(stored_item item, const prepared_put& what) override {
    if (const auto* old = to_.find(item.space, item.key); old && !old->is_over(item.updated))
      item.created = old->created;
    take(item.space, item.key);
    auto& space = to_.spaces_[item.space];
    if (space.number == 0)
      space.number = ++to_.last_number_;
    item.number = ++to_.last_number_;
    item_place place{item.space, item.key};
    if (!what.vectors.empty()) {
      to_.fresh_[item.number] = {space.number, what.vectors};
      to_.places_[item.number] = place;
    }
    if (item.end != store_no_end)
      to_.ends_[{item.end, item.number}] = place;
    space.items.insert_or_assign(place.second, std::move(item));
    return {};
  }

  result<void> remove(const store_namespace& space, const std::string& key) override {
    take(space, key);
    return {};
  }

  result<void> refresh(const stored_item& item, std::int64_t now, std::int64_t end) override {
    const auto* found = to_.find(item.space, item.key);
    if (!found || found->number != item.number || found->is_over(now))
      return {};
    to_.ends_.erase({found->end, found->number});
    to_.ends_[{end, found->number}] = {item.space, item.key};
    to_.spaces_.find(item.space)->second.items.find(item.key)->second.end = end;
    return {};
  }

  result<std::size_t> sweep(std::int64_t now, std::size_t count) override {
    std::size_t swept = 0;
    for (; swept < count && !to_.ends_.empty() && to_.ends_.begin()->first.first <= now; ++swept) {
      auto [space, key] = to_.ends_.begin()->second;
      take(space, key);
    }
    return swept;
  }

  result<void> commit() override { return {}; }

private:
  void take(const store_namespace& space, const std::string& key) {
    auto in = to_.spaces_.find(space);
    if (in == to_.spaces_.end())
      return;
    auto at = in->second.items.find(key);
    if (at == in->second.items.end())
      return;
    if (to_.places_.erase(at->second.number) != 0 && to_.fresh_.erase(at->second.number) == 0)
      gone_.push_back(at->second.number);
    to_.ends_.erase({at->second.end, at->second.number});
    in->second.items.erase(at);
    if (in->second.items.empty())
      to_.spaces_.erase(in);
  }

  memory_backend& to_;
};

result<void> memory_backend::read(const read_work& work) {
  memory_snapshot items{*this};
  return work(items);
}

result<std::vector<std::uint64_t>> memory_backend::change(bool, const change_work& work) {
  std::unique_lock lock{mutex_};
  memory_change change{*this};
  if (auto done = work(change); !done)
    return done.error();
  return change.gone();
}

} // namespace

std::shared_ptr<store> make_memory_store(store_options options) {
  check_store_options(options).value();
  return std::make_shared<local_store>(std::make_shared<memory_backend>(), std::move(options));
}

} // namespace troupe
