// Nodes of values: how they are made, filled and freed.
//
// Invariants: a node's rank is greater than that of every node it points to. Freeing does not
// recurse into nested values.
#include "graph/value_node.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

namespace troupe::detail {

// ---- making ---------------------------------------------------------------------------------

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

bool blob_maker::open(std::size_t text) {
  auto bytes = bytes_for(text);
  if (text > limits::value_block_string_bytes_max)
    return false;
  auto room = std::min(total_ / word * word, limits::value_block_bytes);
  total_ += bytes; // of one blob here, or of those in the block below
  if (room < sizeof(blob_block) + 2 * bytes)
    return false;
  close();
  block_ = new (::operator new(room)) blob_block{surplus};
  at_ = reinterpret_cast<char*>(block_ + 1);
  end_ = reinterpret_cast<char*>(block_) + room;
  total_ += room;
  return true;
}

void blob_maker::close() noexcept {
  if (!block_)
    return;
  auto unused = surplus - made_;
  block_->release(unused);
  block_ = nullptr;
  at_ = end_ = nullptr;
  made_ = 0;
}

void blob_block::release(std::uint64_t blobs) noexcept {
  if (live.load(std::memory_order_acquire) == blobs
      || live.fetch_sub(blobs, std::memory_order_acq_rel) == blobs)
    ::operator delete(this);
}

// ---- entries --------------------------------------------------------------------------------

namespace {

bool key_less(const map_entry& a, const map_entry& b) noexcept {
  return value_access::text_less(a.key_value, b.key_value);
}
bool key_equal(const map_entry& a, const map_entry& b) noexcept {
  return a.key() == b.key();
}

/// Puts a few entries in key order; equal keys stay in theirs. std::stable_sort allocates a buffer.
void sort_few(map_entry* first, map_entry* last) noexcept {
  for (auto* at = first + 1; at < last; ++at) {
    auto* to = std::upper_bound(first, at, *at, key_less);
    if (to == at)
      continue;
    auto moved = std::move(*at);
    std::move_backward(to, at, at + 1);
    *to = std::move(moved);
  }
}

constexpr std::size_t few_entries_max = 16;

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

} // namespace

bool sort_entries(map_node& node) {
  auto* first = node.entries();
  auto* last = first + node.count;
  auto misplaced = [](const map_entry& a, const map_entry& b) { return !key_less(a, b); };
  if (std::adjacent_find(first, last, misplaced) == last)
    return false;
  if (node.count <= few_entries_max)
    sort_few(first, last);
  else
    std::stable_sort(first, last, key_less);
  return drop_superseded(node);
}

bool settle_entries(map_node& node) {
  auto duplicates = sort_entries(node);
  for (std::size_t i = 0; i < node.count; ++i)
    node.rank = std::max(node.rank, rank_above(value_access::rank(node.entries()[i].val)));
  return duplicates;
}

// ---- freeing --------------------------------------------------------------------------------

namespace {

template <class Visit> void visit_children(value_node& node, Visit visit) {
  switch (node.shape) {
    case value_node::shape_kind::blob:
    case value_node::shape_kind::blob_in_block: return;
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
      return visit(static_cast<extension_node&>(node).payload);
  }
}

/// Frees nodes whose children are released, or wait. Neighbours in a block are counted together.
class freed_nodes {
public:
  ~freed_nodes() { release_block(); }

  void add(value_node* node) noexcept {
    if (node->shape != value_node::shape_kind::blob_in_block)
      return ::operator delete(node); // nothing else needs a destructor
    auto* block = blob_block::of(node);
    if (block != block_)
      release_block();
    block_ = block;
    ++count_;
  }

private:
  void release_block() noexcept {
    if (block_)
      block_->release(count_);
    count_ = 0;
  }

  blob_block* block_ = nullptr;
  std::uint64_t count_ = 0;
};

} // namespace

// Dead nodes with children wait in a chain through their reference counts, which are not needed any
// more.
void value_node::dispose(value_node* dead) noexcept {
  static_assert(sizeof(std::uintptr_t) <= sizeof(std::uint64_t));
  freed_nodes freed;
  dead->refs = 0;
  while (dead) {
    auto* node = dead;
    dead = reinterpret_cast<value_node*>(static_cast<std::uintptr_t>(node->refs));
    visit_children(*node, [&](value& child) {
      auto* released = value_access::node_of(child);
      if (!released || !released->drop())
        return;
      if (released->shape <= shape_kind::blob_in_block)
        return freed.add(released);
      released->refs = reinterpret_cast<std::uintptr_t>(dead);
      dead = released;
    });
    freed.add(node);
  }
}

// ---- marks ----------------------------------------------------------------------------------

std::size_t list_mark::of(const value& list) noexcept {
  auto* buffer = value_access::buffer_of(list);
  std::size_t mark = buffer ? buffer->mark.load(std::memory_order_relaxed) : 0;
  return mark <= list.size() ? mark : 0;
}

void list_mark::raise(const value& list, std::size_t passed) noexcept {
  auto* buffer = value_access::buffer_of(list);
  if (!buffer || passed > UINT32_MAX)
    return;
  auto mark = buffer->mark.load(std::memory_order_relaxed);
  while (mark < passed
         && !buffer->mark.compare_exchange_weak(mark, static_cast<std::uint32_t>(passed),
                                                std::memory_order_relaxed)) {}
}

} // namespace troupe::detail

namespace troupe {

// ---- lists and maps that are filled in place ------------------------------------------------

value_access::unfilled_list value_access::list_of_nulls(std::size_t count) {
  if (count == 0)
    return {value(value::tag::list, nullptr, 0), {}};
  auto* buffer = detail::new_list_buffer(1, count);
  put_nulls(buffer->slots(), count * sizeof(value));
  buffer->used.store(count, std::memory_order_relaxed);
  buffer->complete(count);
  return {value(value::tag::list, buffer, count), {buffer->slots(), count}};
}

void value_access::unfilled_list::settle(std::uint32_t rank) noexcept {
  if (!slots.empty())
    (reinterpret_cast<detail::list_buffer*>(slots.data()) - 1)->rank = detail::rank_above(rank);
}

value_access::unfilled_map value_access::map_of_nulls(std::size_t count) {
  unfilled_map out;
  if (count == 0) {
    out.made = value(value::tag::map, nullptr, 0);
    return out;
  }
  out.node = detail::new_map_node(count);
  put_nulls(out.node->entries(), count * sizeof(detail::map_entry));
  out.node->count = count;
  out.slots = {out.node->entries(), count};
  out.made = value(value::tag::map, out.node, count);
  return out;
}

bool value_access::unfilled_map::settle(std::uint32_t rank) {
  if (!node)
    return true;
  node->rank = detail::rank_above(rank);
  return !detail::sort_entries(*node);
}

} // namespace troupe
