// The value: handles, lists that grow in place, sorted flat maps.
//
// Invariants: a node's contents never change once a handle shows them. A node's rank is greater
// than that of every node it points to. Nothing here recurses into nested values.
#include "graph/list_ids.hpp"
#include "graph/value_node.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

namespace troupe {

namespace {

using detail::list_buffer;
using detail::list_ids;
using detail::map_entry;
using detail::map_node;
using detail::rank_above;
using detail::rank_over;

constinit const value nothing;

void copy_values(std::span<const value> from, value* to) noexcept {
  for (const auto& v : from)
    new (to++) value(v);
}

// Maps up to this size are looked through from the start: a comparison costs less than a branch
// that nothing predicts.
constexpr std::size_t scanned_entries_max = 16;

std::size_t lower_bound(std::span<const map_entry> entries, std::string_view key) noexcept {
  auto before = [](const map_entry& e, std::string_view k) { return e.key() < k; };
  return static_cast<std::size_t>(std::lower_bound(entries.begin(), entries.end(), key, before)
                                  - entries.begin());
}

const value* find(const value& map, std::string_view key) noexcept {
  auto entries = map.entries();
  if (entries.size() > scanned_entries_max) {
    auto i = lower_bound(entries, key);
    return i < entries.size() && entries[i].key() == key ? &entries[i].val : nullptr;
  }
  if (key.size() > value_access::short_max) {
    auto it = std::ranges::find(entries, key, &map_entry::key);
    return it == entries.end() ? nullptr : &it->val;
  }
  value needle(key);
  for (const auto& entry : entries)
    if (value_access::same_words(entry.key_value, needle))
      return &entry.val;
  return nullptr;
}

bool is_pair(const value& v) noexcept {
  return v.is_list() && v.size() == 2 && v[0].is_string();
}

} // namespace

// ---- making ---------------------------------------------------------------------------------

value::value(std::string_view s) : value() {
  if (s.size() > short_max) {
    value longer(tag::string, detail::new_blob(s.data(), s.size()), s.size());
    swap(longer);
    return;
  }
  detail::copy_small(reinterpret_cast<char*>(this), s.data(), s.size());
  len_ = static_cast<std::uint8_t>(s.size());
  tag_ = tag::short_string;
}

value::value(std::initializer_list<value> items) : value() {
  value made;
  if (items.size() != 0 && std::all_of(items.begin(), items.end(), is_pair)) {
    std::vector<value> flat;
    flat.reserve(items.size() * 2);
    for (const auto& pair : items)
      flat.insert(flat.end(), {pair[0], pair[1]});
    bool duplicates = false;
    made = value_access::map(flat, duplicates);
  } else {
    std::vector<value> copies(items.begin(), items.end());
    made = value_access::list(copies);
  }
  swap(made);
}

value value::list(std::vector<value> items) {
  return value_access::list(items);
}

value value::list() {
  return value_access::list({});
}

value value_access::list(std::span<value> items) {
  if (items.empty())
    return value(value::tag::list, nullptr, 0);
  auto* buffer = detail::new_list_buffer(rank_over(items), items.size());
  buffer->used.store(items.size(), std::memory_order_relaxed);
  buffer->complete(items.size());
  std::uninitialized_move(items.begin(), items.end(), buffer->slots());
  return value(value::tag::list, buffer, items.size());
}

value value::map() {
  return map({});
}

value value::map(std::vector<map_init> entries) {
  boost::container::small_vector<value, 16> flat;
  flat.reserve(entries.size() * 2);
  for (auto& [key, val] : entries) {
    flat.emplace_back(std::string_view{key});
    flat.push_back(std::move(val));
  }
  bool duplicates = false;
  return value_access::map({flat.data(), flat.size()}, duplicates);
}

value value_access::map(std::span<value> keys_and_values, bool& duplicates) {
  duplicates = false;
  if (keys_and_values.empty())
    return value(value::tag::map, nullptr, 0);
  auto count = keys_and_values.size() / 2;
  auto* node = detail::new_map_node(count);
  auto* entries = node->entries();
  std::uint32_t rank = 0;
  bool in_order = true;
  for (std::size_t i = 0; i < count; ++i) {
    auto& val = keys_and_values[2 * i + 1];
    rank = std::max(rank, value_access::rank(val));
    new (entries + i) map_entry{std::move(keys_and_values[2 * i]), std::move(val)};
    in_order = in_order && (i == 0 || text_less(entries[i - 1].key_value, entries[i].key_value));
  }
  node->rank = rank_above(rank);
  node->count = count;
  duplicates = !in_order && detail::sort_entries(*node);
  return value(value::tag::map, node, node->count);
}

value value::bytes(std::span<const std::byte> data) {
  if (data.empty())
    return value(tag::bytes, nullptr, 0);
  return value(tag::bytes, detail::new_blob(data.data(), data.size()), data.size());
}

value value::extension(value_kind kind, value payload) {
  if (auto problem = detail::payload_problem(kind, payload); !problem.empty())
    throw troupe::error{errc::invalid_value, "make an extension: " + std::string{problem} + ": "
                                               + std::string{to_string(kind)}};
  return value_access::extension(kind, std::move(payload));
}

value value_access::extension(value_kind kind, value payload) {
  auto rank = rank_above(value_access::rank(payload));
  std::uint64_t fingerprint = 0;
  if (kind == value_kind::message || kind == value_kind::remove_message)
    if (const auto& id = kind == value_kind::message ? payload["id"] : payload; id.is_string())
      fingerprint = id_fingerprint(id.text());
  auto* node = new detail::extension_node{rank, std::move(payload)};
  return value(value::tag::extension, node, fingerprint, static_cast<std::uint8_t>(kind));
}

// ---- reading --------------------------------------------------------------------------------

troupe::error value::wrong_kind(value_kind wanted) const {
  return {errc::invalid_value, "read a value: wanted " + std::string{to_string(wanted)} + ": it is "
                                 + std::string{to_string(kind())}};
}

std::int64_t value::as_number() const {
  if (!is_int())
    throw wrong_kind(value_kind::floating);
  return as_int();
}

std::span<const std::byte> value::as_bytes() const {
  if (!is_bytes())
    throw wrong_kind(value_kind::bytes);
  if (!counted())
    return {};
  return std::as_bytes(std::span{text()});
}

const value& value::payload() const {
  if (tag_ != tag::extension)
    throw troupe::error{errc::invalid_value, "read a payload: wanted an extension: it is "
                                               + std::string{to_string(kind())}};
  return static_cast<detail::extension_node*>(node())->payload;
}

std::span<const value> value::items() const noexcept {
  if (!is_list() || !counted())
    return {};
  return {static_cast<list_buffer*>(node())->slots(), extent()};
}

std::span<const map_entry> value::entries() const noexcept {
  if (!is_map() || !counted())
    return {};
  return {static_cast<map_node*>(node())->entries(), extent()};
}

const value& value::at(std::size_t i) const {
  if (!is_list())
    throw wrong_kind(value_kind::list);
  if (i >= extent())
    throw troupe::error{errc::invalid_value, "read a list: too short: wanted element "
                                               + std::to_string(i) + " of "
                                               + std::to_string(extent())};
  return items()[i];
}

const value& value::at(std::string_view key) const {
  auto* found = find(*this, key);
  if (!found)
    throw troupe::error{errc::missing_key, "read a " + std::string{to_string(kind())}
                                             + ": no such member: " + std::string{key}};
  return *found;
}

const value& value::operator[](std::size_t i) const noexcept {
  auto all = items();
  return i < all.size() ? all[i] : nothing;
}

const value& value::operator[](std::string_view key) const noexcept {
  auto* found = find(*this, key);
  return found ? *found : nothing;
}

bool value::contains(std::string_view key) const noexcept {
  return find(*this, key) != nullptr;
}

// ---- new versions ---------------------------------------------------------------------------

value value::append(value item) const {
  return append_all({&item, 1});
}

namespace {

// Whether the handles are identical, not merely equal values.
bool same_handles(const value* slots, std::span<const value> items) {
  return std::memcmp(static_cast<const void*>(slots), items.data(), items.size_bytes()) == 0;
}

} // namespace

value value::append_all(std::span<const value> more) const {
  if (!is_list())
    throw wrong_kind(value_kind::list);
  if (more.empty())
    return value(*this);
  auto old = items();
  auto size = old.size() + more.size();
  auto rank = rank_over(more);
  auto* buffer = static_cast<list_buffer*>(node());
  // The same elements were appended to this version before (a preview, then the real append):
  // shared.
  if (buffer && size <= buffer->made.load(std::memory_order_acquire)
      && same_handles(buffer->slots() + old.size(), more)) {
    buffer->retain();
    return value(tag::list, buffer, size);
  }
  // In place when this is the newest version, there is room, and nothing in `more` can lead back
  // here. Relaxed: the slots before were made before this handle, and passing the new handle to
  // another thread synchronises the two threads.
  auto newest = old.size();
  if (buffer && size <= buffer->capacity && rank <= buffer->rank
      && buffer->used.compare_exchange_strong(newest, size, std::memory_order_relaxed)) {
    copy_values(more, buffer->slots() + old.size());
    list_ids::note(*buffer, old.size(), size);
    buffer->complete(size);
    buffer->retain();
    return value(tag::list, buffer, size);
  }
  auto capacity = std::max({size, 2 * old.size(), std::size_t{4}});
  auto* grown = list_ids::new_buffer(std::max(rank, rank_over(old)), capacity, old);
  grown->used.store(size, std::memory_order_relaxed);
  copy_values(old, grown->slots());
  copy_values(more, grown->slots() + old.size());
  list_ids::note(*grown, 0, size);
  grown->complete(size);
  grown->mark.store(static_cast<std::uint32_t>(detail::list_mark::of(*this)),
                    std::memory_order_relaxed);
  return value(tag::list, grown, size);
}

value value::with(std::string_view key, value v) const {
  if (!is_map())
    throw wrong_kind(value_kind::map);
  auto old = entries();
  auto at = lower_bound(old, key);
  bool replaces = at < old.size() && old[at].key() == key;
  value key_value = replaces ? old[at].key_value : value(key);
  auto* node = detail::new_map_node(old.size() + 1);
  auto* to = node->entries();
  auto rank = rank_above(value_access::rank(v));
  auto add = [&](const map_entry& e) {
    new (to++) map_entry(e);
    rank = std::max(rank, rank_above(value_access::rank(e.val)));
  };
  std::ranges::for_each(old.first(at), add);
  new (to++) map_entry{std::move(key_value), std::move(v)};
  std::ranges::for_each(old.subspan(at + replaces), add);
  node->rank = rank;
  node->count = static_cast<std::size_t>(to - node->entries());
  return value(tag::map, node, node->count);
}

value value::without(std::string_view key) const {
  if (!is_map())
    throw wrong_kind(value_kind::map);
  auto old = entries();
  auto at = lower_bound(old, key);
  if (at == old.size() || old[at].key() != key)
    return value(*this);
  if (old.size() == 1)
    return map();
  auto* node = detail::new_map_node(old.size() - 1);
  std::ranges::uninitialized_copy(old.first(at), std::span{node->entries(), at});
  std::ranges::uninitialized_copy(old.subspan(at + 1),
                                  std::span{node->entries() + at, old.size() - at - 1});
  node->count = old.size() - 1;
  detail::settle_entries(*node);
  return value(tag::map, node, node->count);
}

} // namespace troupe
