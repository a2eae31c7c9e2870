// The cache in memory. One lock around everything; values are handles.
//
// Invariants:
//  - Each entry is in `by_age_` under its number, and in `by_end_` if it has an end.
//  - At most `entries_max_` entries.
#include "persistence/cache/cache_rules.hpp"
#include "persistence/store/part_path.hpp"

#include <map>
#include <mutex>
#include <set>

namespace troupe {

namespace {

using time_point = node_cache::clock::time_point;

struct cached_value {
  troupe::value value;
  std::optional<time_point> until;
  std::uint64_t number = 0; // grows with every set()
};

class memory_cache final : public node_cache {
public:
  explicit memory_cache(std::size_t entries_max) : entries_max_{entries_max} {}

  result<std::optional<value>> get(const cache_key& key, time_point now) override {
    if (auto ok = check_cache_key(key); !ok)
      return ok.error();
    std::scoped_lock lock{mutex_};
    last_now_ = now;
    auto at = entries_.find(key);
    if (at == entries_.end() || has_run_out(at->second.until, now))
      return std::optional<value>{};
    return std::optional<value>{at->second.value};
  }

  result<void> set(const cache_key& key, const value& v, std::optional<time_point> until) override {
    if (auto ok = check_cache_key(key); !ok)
      return ok;
    std::scoped_lock lock{mutex_};
    if (auto at = entries_.find(key); at != entries_.end())
      forget(at);
    auto number = ++last_number_;
    auto at = entries_.emplace(key, cached_value{v, until, number}).first;
    by_age_.emplace(number, at);
    if (until)
      by_end_.emplace(*until, number);
    shrink();
    return {};
  }

  result<void> clear(const std::vector<std::string>& space) override {
    std::scoped_lock lock{mutex_};
    for (auto at = entries_.lower_bound({space, ""});
         at != entries_.end() && is_under(at->first.space, space);)
      forget(at++);
    return {};
  }

private:
  using entry_map = std::map<cache_key, cached_value>;

  void forget(entry_map::iterator at) {
    const auto& entry = at->second;
    if (entry.until)
      by_end_.erase({*entry.until, entry.number});
    by_age_.erase(entry.number);
    entries_.erase(at);
  }

  // Expired entries are removed at once, not only when room is needed. Each entry is removed
  // once.
  void shrink() {
    while (!by_end_.empty() && by_end_.begin()->first <= last_now_)
      forget(by_age_.at(by_end_.begin()->second));
    while (entries_.size() > entries_max_)
      forget(by_age_.begin()->second);
  }

  const std::size_t entries_max_;
  std::mutex mutex_;
  time_point last_now_ = time_point::min();
  std::uint64_t last_number_ = 0;
  entry_map entries_;
  std::map<std::uint64_t, entry_map::iterator> by_age_;
  std::set<std::pair<time_point, std::uint64_t>> by_end_;
};

} // namespace

std::shared_ptr<node_cache> make_memory_cache(std::size_t entries_max) {
  return std::make_shared<memory_cache>(entries_max);
}

} // namespace troupe
