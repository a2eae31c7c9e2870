// The long-term store in an LMDB file of its own, beside the saver's: reads on the calling thread,
// changes there too, one at a time, each one transaction that is synced.
//
// The file is not the saver's because that has one writer thread with a group commit; a store's put
// would wait for it, and be waited for. Several stores of this process, with options of each one's
// own, share one file object, since LMDB must not open a file twice.
#include "persistence/data_directory.hpp"
#include "persistence/item_change.hpp"
#include "persistence/lmdb_files.hpp"
#include "persistence/lmdb_index.hpp"
#include "persistence/local_store.hpp"
#include "persistence/part_path.hpp"

#include <algorithm>

namespace troupe {

namespace {

// Gives what is under a prefix in the order of its names, until `take` says no. Long names stand
// cut in the keys: those alike so far are put in order here.
template <class Entry, class Open, class Less, class Take>
result<bool> in_order(const lmdb_txn& txn, const store_key& prefix, std::size_t name_at, Open open,
                      Less is_less, Take take) {
  std::vector<Entry> alike;
  std::string beginning;
  auto take_alike = [&]() -> result<bool> {
    std::ranges::sort(alike, is_less);
    for (auto& entry : std::exchange(alike, {}))
      if (auto more = take(std::move(entry)); !more || !*more)
        return more;
    return true;
  };
  lmdb_cursor at{txn};
  auto more = at.seek(prefix);
  for (; more && *more && at.key().starts_with(prefix.view()); more = at.next()) {
    auto cut = cut_name(at.key().substr(name_at));
    if (!alike.empty() && cut != beginning)
      if (auto goes_on = take_alike(); !goes_on || !*goes_on)
        return goes_on;
    result<Entry> entry = open(at.data(), at.key());
    if (!entry)
      return entry.error();
    if (cut) {
      beginning = *cut;
      alike.push_back(std::move(*entry));
    } else if (auto goes_on = take(std::move(*entry)); !goes_on || !*goes_on) {
      return goes_on;
    }
  }
  return more ? take_alike() : more;
}

class lmdb_snapshot final : public store_snapshot {
public:
  static result<lmdb_snapshot> begin(lmdb_env& env) {
    auto txn = env.begin_read();
    if (!txn)
      return txn.error();
    auto key = items_meta_key();
    auto stored = txn->get(key);
    if (!stored)
      return stored.error();
    auto payload = open_record(stored->value_or(""), key, record_kind::meta);
    auto meta = payload ? read_items_meta(*payload) : payload.error();
    if (!meta)
      return meta.error();
    return lmdb_snapshot{std::move(*txn), meta->last_number};
  }

  result<std::uint64_t> last_number() override { return last_number_; }

  result<std::optional<stored_item>> find(const store_namespace& space,
                                          const std::string& name) override {
    auto number = find_space(txn_, space);
    if (!number)
      return number.error();
    if (!*number)
      return std::optional<stored_item>{};
    auto found = read_item(item_key(**number, name));
    if (found && *found && (*found)->key != name) // of the same hash
      return std::optional<stored_item>{};
    return found;
  }

  result<std::vector<std::optional<stored_item>>>
  find(std::span<const std::uint64_t> numbers) override {
    std::vector<std::optional<stored_item>> found;
    for (auto number : numbers) {
      auto item = find_number(number);
      if (!item)
        return item.error();
      found.push_back(std::move(*item));
    }
    return found;
  }

  result<std::vector<std::uint64_t>> missing(std::span<const std::uint64_t> numbers) override {
    std::vector<std::uint64_t> gone;
    for (auto number : numbers) {
      auto item = find_number(number);
      if (!item)
        return item.error();
      if (!*item)
        gone.push_back(number);
    }
    return gone;
  }

  result<void> each(const store_namespace& prefix, const take_item& take) override {
    auto done = in_order<stored_space>(
      txn_, spaces_prefix(prefix), spaces_prefix({}).view().size(), open_space,
      [](const stored_space& x, const stored_space& y) { return x.space < y.space; },
      [&](stored_space space) {
        return is_under(space.space, prefix) ? each_in(space.number, take) : true;
      });
    return done ? result<void>{} : done.error();
  }

  result<std::vector<store_namespace>> namespaces(std::int64_t now) override {
    auto spaces = spaces_under({});
    if (!spaces)
      return spaces.error();
    std::vector<store_namespace> found;
    for (auto& [number, space] : *spaces) {
      auto is_alive = has_item(number, now);
      if (!is_alive)
        return is_alive.error();
      if (*is_alive)
        found.push_back(std::move(space));
    }
    return found;
  }

  result<vector_groups> groups(const store_namespace& prefix) override {
    auto spaces = spaces_under(prefix);
    if (!spaces)
      return spaces.error();
    vector_groups found;
    for (const auto& [number, space] : *spaces)
      found.insert(number);
    return found;
  }

  // A damaged vector is none.
  result<void> vectors_after(std::uint64_t number, std::size_t dims,
                             const take_vector& take) override {
    lmdb_cursor at{txn_};
    auto prefix = vectors_prefix();
    auto more = at.seek(vectors_prefix(number + 1));
    for (; more && *more && at.key().starts_with(prefix.view()); more = at.next()) {
      auto of = read_vector_key(at.key());
      auto vector = open_vector(at.data(), at.key());
      if (of && vector && vector->numbers.size() == dims)
        take(*of, *space_of_item_key(vector->item_key), vector->numbers);
    }
    return more ? result<void>{} : more.error();
  }

private:
  lmdb_snapshot(lmdb_txn txn, std::uint64_t last_number)
    : txn_{std::move(txn)},
      last_number_{last_number} {}

  // Any of its vectors has the item's key: the first may be damaged.
  result<std::optional<stored_item>> find_number(std::uint64_t number) {
    lmdb_cursor at{txn_};
    auto prefix = vectors_prefix(number);
    auto more = at.seek(prefix);
    for (; more && *more && at.key().starts_with(prefix.view()); more = at.next())
      if (auto vector = open_vector(at.data(), at.key())) {
        auto found = read_item(vector->item_key);
        auto is_it = !found || (*found && (*found)->number == number);
        return is_it ? std::move(found) : std::optional<stored_item>{};
      }
    return more ? result<std::optional<stored_item>>{std::nullopt} : more.error();
  }

  result<std::optional<stored_item>> read_item(std::string_view key) {
    auto stored = txn_.get(key);
    if (!stored)
      return stored.error();
    if (!*stored)
      return std::optional<stored_item>{};
    auto item = open_item(**stored, key);
    return item ? result<std::optional<stored_item>>{std::move(*item)} : item.error();
  }

  result<std::vector<stored_space>> spaces_under(const store_namespace& prefix) {
    std::vector<stored_space> found;
    auto scanned = scan(txn_, spaces_prefix(prefix), [&](auto key, auto data) -> result<void> {
      auto space = open_space(data, key);
      if (!space)
        return space.error();
      if (is_under(space->space, prefix))
        found.push_back(std::move(*space));
      return {};
    });
    if (!scanned)
      return scanned.error();
    return found;
  }

  result<bool> each_in(std::uint64_t space, const take_item& take) {
    auto prefix = items_prefix(space);
    return in_order<stored_item>(
      txn_, prefix, prefix.view().size(), open_item,
      [](const stored_item& x, const stored_item& y) { return x.key < y.key; }, take);
  }

  // A damaged item counts: its namespace must be found for it to be removed.
  result<bool> has_item(std::uint64_t space, std::int64_t now) {
    lmdb_cursor at{txn_};
    auto prefix = items_prefix(space);
    auto more = at.seek(prefix);
    for (; more && *more && at.key().starts_with(prefix.view()); more = at.next()) {
      auto head = open_item_head(at.data(), at.key());
      if (!head || !head->item.is_over(now))
        return true;
    }
    return more ? result<bool>{false} : more;
  }

  lmdb_txn txn_;
  std::uint64_t last_number_;
};

// ---- the file -----------------------------------------------------------------------------------

class lmdb_backend final : public store_backend {
public:
  static result<std::unique_ptr<lmdb_backend>> open(const std::filesystem::path& dir,
                                                    std::size_t map_size_bytes) {
    auto env = lmdb_env::open(dir / store_file_name, map_size_bytes);
    if (!env)
      return env.error();
    std::unique_ptr<lmdb_backend> opened{new lmdb_backend{std::move(*env)}};
    auto ready = opened->set_up();
    return ready ? result<std::unique_ptr<lmdb_backend>>{std::move(opened)} : ready.error();
  }

  lmdb_env& env() noexcept { return *env_; }

  result<void> read(const read_work& work) override {
    auto items = lmdb_snapshot::begin(*env_);
    return items ? work(*items) : items.error();
  }

  result<std::vector<std::uint64_t>> change(bool frees, const change_work& work) override {
    std::scoped_lock alone{change_mutex_};
    auto done = try_change(work);
    if (done || done.error().code() != errc::storage_full || !frees)
      return done;
    return change_in_reserve(work);
  }

private:
  explicit lmdb_backend(std::unique_ptr<lmdb_env> env) : env_{std::move(env)} {}

  result<void> set_up() {
    auto done = try_change([](store_change&) { return result<void>{}; });
    return done ? result<void>{} : done.error();
  }

  result<std::vector<std::uint64_t>> try_change(const change_work& work, bool touches = false) {
    if (reopen_first_)
      if (auto ok = env_->reopen(); !ok)
        return ok.error();
    reopen_first_ = false;
    auto begun = item_change::begin(*env_);
    if (!begun)
      return begun.error();
    if (auto ok = work(*begun); !ok)
      return ok.error();
    if (touches)
      begun->touch();
    auto committed = begun->commit();
    reopen_first_ = !committed;
    return committed ? result<std::vector<std::uint64_t>>{begun->gone()} : committed.error();
  }

  // Removing needs room itself: it gets the reserve beyond the map. What it frees can be used two
  // transactions later, so a second one follows.
  result<std::vector<std::uint64_t>> change_in_reserve(const change_work& work) {
    env_->clear_dead_readers();
    if (auto ok = env_->resize(env_->map_size_bytes() + limits::store_reserve_bytes); !ok)
      return ok.error();
    auto done = try_change(work);
    if (done)
      if (auto touched = try_change([](store_change&) { return result<void>{}; }, true); !touched)
        done = touched;
    auto shrunk = env_->resize(env_->map_size_bytes());
    return done && !shrunk ? shrunk.error() : done;
  }

  std::unique_ptr<lmdb_env> env_;
  std::mutex change_mutex_;
  bool reopen_first_ = false; // a commit failed
};

result<std::shared_ptr<lmdb_backend>> find_or_open(const std::string& dir,
                                                   std::size_t map_size_bytes) {
  return open_objects<lmdb_backend>::of_this_process().find_or_open(dir, [&] {
    return lmdb_backend::open(dir, map_size_bytes);
  });
}

} // namespace

result<std::uint64_t> copy_store_file(const std::string& dir, const std::filesystem::path& to,
                                      bool compact) {
  auto backend = find_or_open(dir, limits::store_map_bytes_default);
  return backend ? (*backend)->env().copy_to(to, compact) : backend.error();
}

result<std::shared_ptr<store>> open_lmdb_store(const std::filesystem::path& dir,
                                               lmdb_store_options options) {
  if (auto ok = check_store_options(options.store); !ok)
    return ok.error();
  auto path = make_data_directory(dir);
  if (!path)
    return path.error();
  auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto map_size = std::max(options.map_size_bytes_max, limits::store_map_bytes_min) / page * page;
  auto backend = find_or_open(*path, map_size);
  if (!backend)
    return backend.error();
  return std::shared_ptr<store>{
    std::make_shared<local_store>(std::move(*backend), std::move(options.store))};
}

} // namespace troupe
