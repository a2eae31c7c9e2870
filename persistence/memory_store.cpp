// The store in memory: one ordered map of namespaces, each one of keys. Values are handles.
//
// Invariant: a namespace is there only while it has a key.
#include "persistence/part_path.hpp"
#include "persistence/store_filter.hpp"
#include "persistence/store_namespace.hpp"
#include "persistence/timestamp_text.hpp"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace troupe {

namespace {

struct stored_value {
  troupe::value value;
  std::string created_at;
  std::string updated_at;
};

using stored_space = std::map<std::string, stored_value>;

store_item item_of(const store_namespace& space, const std::string& key,
                   const stored_value& stored) {
  return {space, key, stored.value, stored.created_at, stored.updated_at};
}

class memory_store final : public store {
public:
  explicit memory_store(store_clock now) : now_{std::move(now)} {}

  result<std::optional<store_item>> get(const store_namespace& space,
                                        const std::string& key) override {
    std::shared_lock lock{mutex_};
    auto in = spaces_.find(space);
    if (in == spaces_.end())
      return std::optional<store_item>{};
    auto at = in->second.find(key);
    if (at == in->second.end())
      return std::optional<store_item>{};
    return std::optional{item_of(space, key, at->second)};
  }

  result<void> put(const store_namespace& space, const std::string& key, const value& v) override {
    if (auto ok = check_store_namespace(space); !ok)
      return ok;
    if (!v.is_map())
      return troupe::error{errc::invalid_value,
                           "put into the store: the value is no map but of kind "
                             + std::string{to_string(v.kind())} + ": key `" + key + "`"};
    auto now = time_text();
    std::unique_lock lock{mutex_};
    auto [at, is_new] = spaces_[space].try_emplace(key);
    at->second.value = v;
    at->second.updated_at = now;
    if (is_new)
      at->second.created_at = std::move(now);
    return {};
  }

  result<void> remove(const store_namespace& space, const std::string& key) override {
    std::unique_lock lock{mutex_};
    auto in = spaces_.find(space);
    if (in == spaces_.end())
      return {};
    in->second.erase(key);
    if (in->second.empty())
      spaces_.erase(in);
    return {};
  }

  result<std::vector<store_item>> search(const store_query& query) override {
    if (auto ok = check_filter(query.filter); !ok)
      return ok.error();
    std::shared_lock lock{mutex_};
    std::vector<store_item> found;
    auto skipped = std::size_t{0};
    for (auto in = spaces_.lower_bound(query.prefix);
         in != spaces_.end() && is_under(in->first, query.prefix); ++in)
      for (const auto& [key, stored] : in->second) {
        if (found.size() >= query.limit)
          return found;
        if (!fits_filter(stored.value, query.filter))
          continue;
        if (skipped < query.offset)
          ++skipped;
        else
          found.push_back(item_of(in->first, key, stored));
      }
    return found;
  }

  result<std::vector<store_namespace>> list_namespaces(const namespace_query& query) override {
    std::shared_lock lock{mutex_};
    namespace_listing listing{query};
    for (auto in = spaces_.begin(); in != spaces_.end() && !listing.is_full(); ++in)
      listing.take(in->first);
    return std::move(listing).found();
  }

private:
  std::string time_text() const {
    using std::chrono::microseconds;
    auto micros = std::chrono::floor<microseconds>(now_().time_since_epoch()).count();
    return timestamp_text(
      std::clamp<std::int64_t>(micros, timestamp_micros_min, timestamp_micros_max));
  }

  const store_clock now_;
  std::shared_mutex mutex_;
  std::map<store_namespace, stored_space> spaces_;
};

} // namespace

std::shared_ptr<store> make_memory_store(store_clock now) {
  return std::make_shared<memory_store>(std::move(now));
}

} // namespace troupe
