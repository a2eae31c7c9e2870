// The value: handles, shared nodes, lists that grow in place, sorted flat maps.
//
// Invariants: a node's contents never change once a handle shows them. A node's rank is greater
// than that of every node it points to. Nothing here recurses into nested values.
#include "graph/value_node.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace troupe {

namespace {

using detail::list_buffer;
using detail::map_entry;
using detail::map_node;
using detail::value_node;

constinit const value nothing;

std::uint32_t rank_above(std::uint32_t rank) noexcept {
  return rank == UINT32_MAX ? rank : rank + 1;
}

/// The rank of a node that points to these values.
std::uint32_t rank_over(std::span<const value> children) noexcept {
  std::uint32_t highest = 0;
  for (const auto& child : children)
    highest = std::max(highest, value_access::rank(child));
  return rank_above(highest);
}

list_buffer* new_list_buffer(std::uint32_t rank, std::size_t capacity) {
  auto* memory = ::operator new(sizeof(list_buffer) + capacity * sizeof(value));
  return new (memory) list_buffer{rank, capacity};
}

map_node* new_map_node(std::size_t capacity) {
  auto* memory = ::operator new(sizeof(map_node) + capacity * sizeof(map_entry));
  return new (memory) map_node;
}

value_node* new_blob(const void* data, std::size_t size) {
  auto* memory = ::operator new(sizeof(value_node) + size);
  auto* node = new (memory) value_node{0, value_node::shape_kind::blob};
  std::memcpy(static_cast<void*>(node + 1), data, size);
  return node;
}

void copy_values(std::span<const value> from, value* to) noexcept {
  for (const auto& v : from)
    new (to++) value(v);
}

bool key_less(const map_entry& a, const map_entry& b) noexcept {
  return a.key() < b.key();
}
bool key_equal(const map_entry& a, const map_entry& b) noexcept {
  return a.key() == b.key();
}

/// Keeps the last one of equal keys among sorted entries. Result: whether there were equal keys.
bool drop_superseded(map_node& node) {
  auto* first = node.entries();
  auto* last = first + node.count;
  auto* kept = first;
  for (auto* at = first; at != last; ++at) {
    if (at + 1 != last && key_equal(*at, *(at + 1)))
      continue;
    if (kept != at)
      *kept = std::move(*at);
    ++kept;
  }
  std::destroy(kept, last);
  node.count = static_cast<std::size_t>(kept - first);
  return kept != last;
}

/// Puts the entries in key order, each key once, and gives the node its rank. Result: whether there
/// were equal keys.
bool settle_entries(map_node& node) {
  auto* first = node.entries();
  auto* last = first + node.count;
  auto misplaced = [](const map_entry& a, const map_entry& b) { return !key_less(a, b); };
  bool duplicates = false;
  if (std::adjacent_find(first, last, misplaced) != last) {
    std::stable_sort(first, last, key_less);
    duplicates = drop_superseded(node);
  }
  for (std::size_t i = 0; i < node.count; ++i)
    node.rank = std::max(node.rank, rank_above(value_access::rank(first[i].val)));
  return duplicates;
}

std::size_t lower_bound(std::span<const map_entry> entries, std::string_view key) noexcept {
  auto before = [](const map_entry& e, std::string_view k) { return e.key() < k; };
  return static_cast<std::size_t>(std::lower_bound(entries.begin(), entries.end(), key, before)
                                  - entries.begin());
}

const value* find(const value& map, std::string_view key) noexcept {
  auto entries = map.entries();
  auto i = lower_bound(entries, key);
  return i < entries.size() && entries[i].key() == key ? &entries[i].val : nullptr;
}

bool is_pair(const value& v) noexcept {
  return v.is_list() && v.size() == 2 && v[0].is_string();
}

template <class Visit> void visit_children(value_node& node, Visit visit) {
  switch (node.shape) {
    case value_node::shape_kind::blob: return;
    case value_node::shape_kind::list: {
      auto& buffer = static_cast<list_buffer&>(node);
      auto used = buffer.used.load(std::memory_order_relaxed);
      std::for_each_n(buffer.slots(), used, visit);
      return;
    }
    case value_node::shape_kind::map: {
      auto& map = static_cast<map_node&>(node);
      std::for_each_n(map.entries(), map.count, [&](map_entry& e) {
        visit(e.key_value);
        visit(e.val);
      });
      return;
    }
    case value_node::shape_kind::extension:
      return visit(static_cast<detail::extension_node&>(node).payload);
  }
}

} // namespace

// ---- nodes ----------------------------------------------------------------------------------

// Dead nodes wait in a chain through their reference counts, which are not needed any more.
void value_node::dispose(value_node* dead) noexcept {
  static_assert(sizeof(std::uintptr_t) <= sizeof(std::uint64_t));
  dead->refs.store(0, std::memory_order_relaxed);
  while (dead) {
    auto* node = dead;
    dead = reinterpret_cast<value_node*>(
      static_cast<std::uintptr_t>(node->refs.load(std::memory_order_relaxed)));
    visit_children(*node, [&dead](value& child) {
      auto* released = value_access::release(child);
      if (released && released->drop()) {
        released->refs.store(reinterpret_cast<std::uintptr_t>(dead), std::memory_order_relaxed);
        dead = released;
      }
    });
    ::operator delete(node); // its children are released; nothing else needs a destructor
  }
}

value::value(tag t, detail::value_node* n, std::size_t extent, std::uint8_t len) noexcept
  : bits_{reinterpret_cast<std::uintptr_t>(n)},
    tail_{},
    len_{len},
    tag_{t} {
  std::memcpy(tail_, &extent, sizeof tail_);
}

// ---- making ---------------------------------------------------------------------------------

value::value(std::string_view s) : value() {
  if (s.size() > short_max) {
    value longer(tag::string, new_blob(s.data(), s.size()), s.size());
    swap(longer);
    return;
  }
  if (!s.empty())
    std::memcpy(reinterpret_cast<char*>(this), s.data(), s.size());
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

value value_access::list(std::span<value> items) {
  if (items.empty())
    return value(value::tag::list, nullptr, 0);
  auto* buffer = new_list_buffer(rank_over(items), items.size());
  buffer->used.store(items.size(), std::memory_order_relaxed);
  buffer->made.store(items.size(), std::memory_order_relaxed);
  std::uninitialized_move(items.begin(), items.end(), buffer->slots());
  return value(value::tag::list, buffer, items.size());
}

value value::map(std::vector<map_init> entries) {
  std::vector<value> flat;
  flat.reserve(entries.size() * 2);
  for (auto& [key, val] : entries) {
    flat.emplace_back(std::string_view{key});
    flat.push_back(std::move(val));
  }
  bool duplicates = false;
  return value_access::map(flat, duplicates);
}

value value_access::map(std::span<value> keys_and_values, bool& duplicates) {
  duplicates = false;
  if (keys_and_values.empty())
    return value(value::tag::map, nullptr, 0);
  auto count = keys_and_values.size() / 2;
  auto* node = new_map_node(count);
  for (std::size_t i = 0; i < count; ++i)
    new (node->entries() + i)
      map_entry{std::move(keys_and_values[2 * i]), std::move(keys_and_values[2 * i + 1])};
  node->count = count;
  duplicates = settle_entries(*node);
  return value(value::tag::map, node, node->count);
}

value_access::unfilled_list value_access::list_of_nulls(std::size_t count) {
  if (count == 0)
    return {value(value::tag::list, nullptr, 0), {}};
  auto* buffer = new_list_buffer(1, count);
  std::uninitialized_value_construct_n(buffer->slots(), count);
  buffer->used.store(count, std::memory_order_relaxed);
  buffer->made.store(count, std::memory_order_relaxed);
  return {value(value::tag::list, buffer, count), {buffer->slots(), count}};
}

void value_access::unfilled_list::settle() noexcept {
  if (!slots.empty())
    (reinterpret_cast<list_buffer*>(slots.data()) - 1)->rank = rank_over(slots);
}

value_access::unfilled_map value_access::map_of_nulls(std::size_t count) {
  unfilled_map out;
  if (count == 0) {
    out.made = value(value::tag::map, nullptr, 0);
    return out;
  }
  out.node = new_map_node(count);
  std::uninitialized_value_construct_n(out.node->entries(), count);
  out.node->count = count;
  out.slots = {out.node->entries(), count};
  out.made = value(value::tag::map, out.node, count);
  return out;
}

bool value_access::unfilled_map::settle() {
  return !node || !settle_entries(*node);
}

value value::bytes(std::span<const std::byte> data) {
  if (data.empty())
    return value(tag::bytes, nullptr, 0);
  return value(tag::bytes, new_blob(data.data(), data.size()), data.size());
}

value value::extension(value_kind kind, value payload) {
  if (auto problem = detail::payload_problem(kind, payload); !problem.empty())
    throw troupe::error{errc::invalid_value, "make an extension: " + std::string{problem} + ": "
                                               + std::string{to_string(kind)}};
  auto rank = rank_above(value_access::rank(payload));
  auto* node = new detail::extension_node{rank, std::move(payload)};
  return value(tag::extension, node, 0, static_cast<std::uint8_t>(kind));
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
    buffer->made.store(size, std::memory_order_release);
    buffer->retain();
    return value(tag::list, buffer, size);
  }
  auto capacity = std::max({size, 2 * old.size(), std::size_t{4}});
  auto* grown = new_list_buffer(std::max(rank, rank_over(old)), capacity);
  grown->used.store(size, std::memory_order_relaxed);
  copy_values(old, grown->slots());
  copy_values(more, grown->slots() + old.size());
  grown->made.store(size, std::memory_order_relaxed);
  return value(tag::list, grown, size);
}

value value::with(std::string_view key, value v) const {
  if (!is_map())
    throw wrong_kind(value_kind::map);
  auto old = entries();
  auto at = lower_bound(old, key);
  bool replaces = at < old.size() && old[at].key() == key;
  value key_value = replaces ? old[at].key_value : value(key);
  auto* node = new_map_node(old.size() + 1);
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
  auto* node = new_map_node(old.size() - 1);
  std::ranges::uninitialized_copy(old.first(at), std::span{node->entries(), at});
  std::ranges::uninitialized_copy(old.subspan(at + 1),
                                  std::span{node->entries() + at, old.size() - at - 1});
  node->count = old.size() - 1;
  settle_entries(*node);
  return value(tag::map, node, node->count);
}

// ---- comparing ------------------------------------------------------------------------------

std::size_t value_access::child_count(const value& v) noexcept {
  switch (v.tag_) {
    case value::tag::list: return v.extent();
    case value::tag::map: return 2 * v.extent();
    case value::tag::extension: return 1;
    default: return 0;
  }
}

const value& value_access::child(const value& v, std::size_t i) noexcept {
  if (v.tag_ == value::tag::list)
    return static_cast<list_buffer*>(v.node())->slots()[i];
  if (v.tag_ == value::tag::extension)
    return static_cast<detail::extension_node*>(v.node())->payload;
  auto& entry = static_cast<map_node*>(v.node())->entries()[i / 2];
  return i % 2 ? entry.val : entry.key_value;
}

namespace {

bool holds_text(const value& v) noexcept {
  return v.is_string() || v.is_bytes();
}

/// Equal apart from the children; `open` reports whether children remain to be compared.
bool same_head(const value& a, const value& b, bool& open) noexcept {
  open = false;
  if (value_access::same_words(a, b))
    return true;
  if (a.kind() != b.kind() || a.size() != b.size())
    return false;
  if (holds_text(a))
    return value_access::text(a) == value_access::text(b);
  open = value_access::child_count(a) != 0;
  return open;
}

/// Mixes one word at a time; the order of words matters.
class value_hasher {
public:
  void add(std::uint64_t word) noexcept {
    state_ = (state_ ^ word) * 0x9e37'79b9'7f4a'7c15;
    state_ ^= state_ >> 32;
  }
  void add(std::string_view text) noexcept {
    for (; text.size() >= 8; text.remove_prefix(8))
      add_bytes(text.data(), 8);
    add_bytes(text.data(), text.size());
  }
  std::uint64_t digest() const noexcept {
    auto x = (state_ ^ (state_ >> 33)) * 0xff51'afd7'ed55'8ccd;
    x = (x ^ (x >> 33)) * 0xc4ce'b9fe'1a85'ec53;
    return x ^ (x >> 33);
  }

private:
  void add_bytes(const char* data, std::size_t size) noexcept {
    std::uint64_t word = 0;
    if (size != 0)
      std::memcpy(&word, data, size);
    add(word);
  }
  std::uint64_t state_ = 0x2545'f491'4f6c'dd1d;
};

/// Mixes in a value without its children: kind, size and content, so that no two trees give one
/// sequence.
void hash_head(value_hasher& hasher, const value& v) noexcept {
  hasher.add(static_cast<std::uint64_t>(v.kind()) << 56 | v.size());
  if (holds_text(v))
    hasher.add(value_access::text(v));
  else if (value_access::child_count(v) == 0)
    hasher.add(value_access::bits(v));
}

} // namespace

bool operator==(const value& a, const value& b) noexcept {
  bool open = false;
  if (!same_head(a, b, open))
    return false;
  if (!open)
    return true;
  std::vector<std::pair<const value*, const value*>> waiting{{&a, &b}};
  while (!waiting.empty()) {
    auto [x, y] = waiting.back();
    waiting.pop_back();
    for (std::size_t i = 0, n = value_access::child_count(*x); i < n; ++i) {
      auto& left = value_access::child(*x, i);
      auto& right = value_access::child(*y, i);
      if (!same_head(left, right, open))
        return false;
      if (open)
        waiting.emplace_back(&left, &right);
    }
  }
  return true;
}

std::uint64_t value::hash() const noexcept {
  struct cursor {
    const value* parent;
    std::size_t next;
  };
  value_hasher hasher;
  std::vector<cursor> path;
  const value* at = this;
  while (at) {
    hash_head(hasher, *at);
    if (value_access::child_count(*at) != 0)
      path.push_back({at, 0});
    while (!path.empty() && path.back().next == value_access::child_count(*path.back().parent))
      path.pop_back();
    at = path.empty() ? nullptr : &value_access::child(*path.back().parent, path.back().next++);
  }
  return hasher.digest();
}

} // namespace troupe
