// lmdb_cache: the cache in an LMDB file of its own. Reads and changes run on the calling thread,
// changes one at a time. A change is one transaction, synced like the saver's. Without that, a
// power cut could leave a file on which LMDB crashes.
//
// The file is bounded by LMDB's map. Half of it is for values, by their charge. LMDB needs the rest
// to write new pages before it reuses those freed two transactions ago. When the room does not
// suffice, half of the values are removed, and then all of them.
#include "persistence/cache/cache_change.hpp"
#include "persistence/cache/cache_rules.hpp"
#include "persistence/crypt/data_keys.hpp"
#include "persistence/lmdb/data_directory.hpp"
#include "persistence/lmdb/data_files.hpp"

#include <atomic>
#include <filesystem>

namespace troupe {

namespace {

constexpr std::size_t values_share = 2; // of the file: one half for all values,
constexpr std::size_t value_share = 8;  // one eighth for one value

// LMDB's message about a damaged file is written for a store: this adds that a cache can be
// deleted.
error advised(const error& err) {
  return err.code() != errc::checkpoint_corrupt
           ? err
           : error{err.code(), err.message() + ": if it is a cache, it can be deleted"};
}

class lmdb_cache final : public node_cache {
public:
  static result<std::unique_ptr<lmdb_cache>> open(const std::filesystem::path& dir,
                                                  const lmdb_cache_options& options) {
    auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto map_size = std::max(options.file_bytes_max, limits::cache_file_bytes_min) / page * page;
    auto env = lmdb_env::open(dir / cache_file_name, map_size);
    if (!env)
      return advised(env.error());
    std::unique_ptr<lmdb_cache> cache{new lmdb_cache{std::move(*env), options}};
    if (auto ready = cache->update([](cache_change&) { return result<void>{}; }); !ready)
      return ready.error();
    return cache;
  }

  const key_provider* keys() const noexcept { return sealing_.keys.get(); }

  result<std::optional<bool>> rewrap_key() {
    std::optional<bool> rewrapped;
    auto done = update([&rewrapped](cache_change& change) -> result<void> {
      auto how = change.rewrap_key();
      rewrapped = how ? *how : std::nullopt;
      return how ? result<void>{} : how.error();
    });
    if (!done)
      return done.error();
    return rewrapped;
  }

  result<std::optional<value>> get(const cache_key& key, cache_time now) override {
    if (auto ok = check_cache_key(key); !ok)
      return ok.error();
    last_now_ = now;
    auto entry_key = cache_entry_key(key);
    bool is_damaged = false;
    auto found = read(key, entry_key, now, is_damaged);
    if (is_damaged) // a miss in any case, even when it can't be removed
      static_cast<void>(
        update([&](cache_change& change) { return change.forget_damaged(entry_key); }));
    return found ? found : advised(found.error());
  }

  result<void> set(const cache_key& key, const value& v, std::optional<cache_time> until) override {
    if (auto ok = check_cache_key(key); !ok)
      return ok;
    auto encoded = to_msgpack(v);
    if (!encoded)
      return encoded.error();
    auto charge = cache_change::charge_of(key, *encoded);
    if (auto most = env_->map_size_bytes() / value_share; charge > most)
      return troupe::error{errc::invalid_value, "cache a value: it is too large for this cache: "
                                                  + std::to_string(charge) + " bytes, at most "
                                                  + std::to_string(most) + ": `" + key.space.back()
                                                  + "`"};
    return update([&](cache_change& change) {
      return change.set(key, *encoded, until, last_now_, env_->map_size_bytes() / values_share);
    });
  }

  result<void> clear(const std::vector<std::string>& space) override {
    return update([&](cache_change& change) { return change.clear(space); });
  }

private:
  lmdb_cache(std::unique_ptr<lmdb_env> env, const lmdb_cache_options& options)
    : env_{std::move(env)},
      sealing_{cache_sealing(remembering(options.keyring), options.compress_bytes_min)} {}

  result<std::optional<value>> read(const cache_key& key, const store_key& entry_key,
                                    cache_time now, bool& is_damaged) {
    auto txn = env_->begin_read();
    if (!txn)
      return txn.error();
    auto stored = txn->get(entry_key);
    if (!stored)
      return stored.error();
    if (!*stored)
      return std::optional<value>{};
    record_opener opener;
    data_cipher cipher{sealing_.data_key, keys()};
    auto payload = cipher.open(*txn, opener, **stored, entry_key, record_kind::cache_entry);
    if (!payload && !is_damage(payload.error()))
      return payload.error();
    auto entry = payload ? read_cache_entry(*payload) : payload.error();
    is_damaged = !entry;
    if (!entry || entry->place != cache_place(key.space, key.key) || has_run_out(entry->until, now))
      return std::optional<value>{};
    auto v = from_msgpack(entry->encoded);
    is_damaged = !v;
    return v ? std::optional{std::move(*v)} : std::nullopt;
  }

  template <class Change> result<void> update(Change change) {
    std::scoped_lock alone{change_mutex_};
    auto done = try_update(change);
    for (auto all : {false, true}) {
      if (done || done.error().code() != errc::storage_full)
        break;
      auto made = make_room(all);
      done = made ? try_update(change) : made;
    }
    return done ? done : advised(done.error());
  }

  template <class Change> result<void> try_update(Change& change) {
    if (auto ok = reopen_if_needed(); !ok)
      return ok;
    auto begun = cache_change::begin<cache_change>(*env_, sealing_);
    if (!begun)
      return begun.error();
    if (auto ok = change(*begun); !ok)
      return ok;
    auto committed = begun->commit();
    reopen_first_ = !committed;
    return committed;
  }

  result<void> reopen_if_needed() {
    if (reopen_first_)
      if (auto ok = env_->reopen(); !ok)
        return ok;
    reopen_first_ = false;
    return {};
  }

  // Removing entries needs room itself, so it gets the reserve beyond the map. Freed pages can be
  // used two transactions later, so a second transaction follows.
  result<void> make_room(bool all) {
    if (auto ok = reopen_if_needed(); !ok)
      return ok;
    env_->clear_dead_readers();
    if (auto ok = env_->resize(env_->map_size_bytes() + limits::store_reserve_bytes); !ok)
      return ok;
    auto forget = [this, all](cache_change& change) {
      return all ? change.clear({}) : change.shrink(change.charged_bytes() / 2, last_now_);
    };
    auto touch = [](cache_change& change) {
      change.touch();
      return result<void>{};
    };
    auto made = try_update(forget);
    if (made)
      made = try_update(touch);
    auto shrunk = env_->resize(env_->map_size_bytes());
    return made ? shrunk : made;
  }

  std::unique_ptr<lmdb_env> env_;
  std::mutex change_mutex_;
  file_sealing sealing_;      // its sealers are used under change_mutex_
  bool reopen_first_ = false; // set after a failed commit
  std::atomic<cache_time> last_now_ = cache_time::min();
};

result<std::shared_ptr<lmdb_cache>> cache_at(const std::string& dir,
                                             const lmdb_cache_options& options) {
  auto found = open_objects<lmdb_cache>::of_this_process().find_or_open(dir, [&] {
    return lmdb_cache::open(dir, options);
  });
  if (found && !serves_keys((*found)->keys(), options.keyring.get()))
    return open_with_other_keys("cache", dir);
  return found;
}

} // namespace

result<std::optional<bool>> rewrap_cache_key(const std::string& dir,
                                             std::shared_ptr<const key_provider> keys) {
  auto cache = cache_at(dir, {.keyring = std::move(keys)});
  return cache ? (*cache)->rewrap_key() : cache.error();
}

result<std::shared_ptr<node_cache>> open_lmdb_cache(const std::string& dir,
                                                    lmdb_cache_options options) {
  auto path = make_data_directory(dir);
  if (!path)
    return path.error();
  auto opened = cache_at(*path, options);
  return opened ? result<std::shared_ptr<node_cache>>{std::move(*opened)} : opened.error();
}

} // namespace troupe
