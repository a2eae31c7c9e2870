// item_snapshot: finding items, namespaces and vectors in one read transaction.
#include "persistence/store/item_snapshot.hpp"

#include "persistence/store/item_change.hpp"
#include "persistence/store/part_path.hpp"

#include <algorithm>

namespace troupe {

namespace {

// Passes the entries under a prefix to `take` in the order of their names, until `take` returns
// false. Long names are cut in the keys: entries whose cut names are equal are sorted here.
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

class item_snapshot final : public store_snapshot {
public:
  static result<std::unique_ptr<store_snapshot>> begin(lmdb_env& env, const key_provider* keys) {
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
    return std::unique_ptr<store_snapshot>{
      new item_snapshot{std::move(*txn), keys, meta->last_number}};
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
    if (found && *found && (*found)->key != name) // another name with the same hash
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

  // A damaged vector counts as missing.
  result<void> vectors_after(std::uint64_t number, std::size_t dims,
                             const take_vector& take) override {
    lmdb_cursor at{txn_};
    auto prefix = vectors_prefix();
    auto more = at.seek(vectors_prefix(number + 1));
    for (; more && *more && at.key().starts_with(prefix.view()); more = at.next()) {
      auto of = read_vector_key(at.key());
      record_opener::scope scope{opener_};
      auto vector = open_vector(at.data(), at.key());
      if (!vector && !is_damage(vector.error()))
        return vector.error();
      if (of && vector && vector->numbers.size() == dims)
        take(*of, *space_of_item_key(vector->item_key), vector->numbers);
    }
    return more ? result<void>{} : more.error();
  }

private:
  item_snapshot(lmdb_txn txn, const key_provider* keys, std::uint64_t last_number)
    : txn_{std::move(txn)},
      cipher_{{items_data_key(), "the encrypted store"}, keys},
      last_number_{last_number} {}

  // Finds an item by any of its vectors, all of which have the item's key: the first may be
  // damaged.
  result<std::optional<stored_item>> find_number(std::uint64_t number) {
    lmdb_cursor at{txn_};
    auto prefix = vectors_prefix(number);
    auto more = at.seek(prefix);
    for (; more && *more && at.key().starts_with(prefix.view()); more = at.next()) {
      record_opener::scope scope{opener_};
      auto vector = open_vector(at.data(), at.key());
      if (vector) {
        auto found = read_item(vector->item_key);
        auto is_it = !found || (*found && (*found)->number == number);
        return is_it ? std::move(found) : std::optional<stored_item>{};
      }
      if (!is_damage(vector.error()))
        return vector.error();
    }
    return more ? result<std::optional<stored_item>>{std::nullopt} : more.error();
  }

  result<std::string_view> open(std::string_view stored, std::string_view key, record_kind kind) {
    return cipher_.open(txn_, opener_, stored, key, kind);
  }

  result<stored_item> open_item(std::string_view stored, std::string_view key) {
    record_opener::scope scope{opener_};
    auto payload = open(stored, key, record_kind::item);
    return payload ? troupe::read_item(*payload) : payload.error();
  }

  // The result's key lies in the opener.
  result<stored_vector> open_vector(std::string_view stored, std::string_view key) {
    auto payload = open(stored, key, record_kind::vector);
    return payload ? read_vector(*payload) : payload.error();
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
      txn_, prefix, prefix.view().size(),
      [this](auto stored, auto key) { return open_item(stored, key); },
      [](const stored_item& x, const stored_item& y) { return x.key < y.key; }, take);
  }

  // A damaged item counts, too: its namespace must be found so that it can be removed.
  result<bool> has_item(std::uint64_t space, std::int64_t now) {
    lmdb_cursor at{txn_};
    auto prefix = items_prefix(space);
    auto more = at.seek(prefix);
    for (; more && *more && at.key().starts_with(prefix.view()); more = at.next()) {
      record_opener::scope scope{opener_};
      auto payload = open(at.data(), at.key(), record_kind::item);
      auto head = payload ? read_item_head(*payload) : payload.error();
      if (!head && !is_damage(head.error()))
        return head.error();
      if (!head || !head->item.is_over(now))
        return true;
    }
    return more ? result<bool>{false} : more;
  }

  lmdb_txn txn_;
  record_opener opener_;
  data_cipher cipher_;
  std::uint64_t last_number_;
};

} // namespace

result<std::unique_ptr<store_snapshot>> read_items(lmdb_env& env, const key_provider* keys) {
  return item_snapshot::begin(env, keys);
}

} // namespace troupe
