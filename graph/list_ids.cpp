// The table of ids: open addressing with a fingerprint's low bits, and no removal.
#include "graph/list_ids.hpp"

#include <memory>
#include <new>

namespace troupe::detail {

namespace {

bool is_noted(const value& v) noexcept {
  return value_access::id_fingerprint(v) != 0;
}

} // namespace

list_ids::list_ids(const value& list) noexcept
  : buffer_{value_access::buffer_of(list)},
    bits_{buffer_ ? buffer_->id_bits.load(std::memory_order_relaxed) : 0u},
    size_{list.size()} {}

std::size_t list_ids::place(std::uint64_t fingerprint) const noexcept {
  auto mask = (std::size_t{1} << bits_) - 1;
  auto* table = table_of(*buffer_);
  for (auto at = fingerprint & mask;; at = (at + 1) & mask) {
    std::size_t noted = table[at].load(std::memory_order_relaxed);
    if (noted == 0)
      return nowhere;
    // A slot beyond this version's end may be one that another thread just makes.
    if (noted <= size_ && value_access::id_fingerprint(buffer_->slots()[noted - 1]) == fingerprint)
      return noted - 1;
  }
}

list_buffer* list_ids::new_buffer(std::uint32_t rank, std::size_t capacity,
                                  std::span<const value> old) {
  constexpr std::size_t list_size_max = 1u << 30; // of places in 32 bits
  bool wanted = capacity > list_size_min && capacity <= list_size_max && !old.empty()
                && is_noted(old.front()) && is_noted(old.back());
  if (!wanted)
    return new_list_buffer(rank, capacity);
  auto bits = bits_for(capacity);
  auto table_size = std::size_t{1} << bits;
  auto* memory =
    ::operator new(sizeof(list_buffer) + capacity * sizeof(value) + table_size * sizeof(slot));
  auto* buffer = new (memory) list_buffer{rank, capacity};
  std::uninitialized_value_construct_n(table_of(*buffer), table_size);
  buffer->id_bits.store(static_cast<std::uint8_t>(bits), std::memory_order_relaxed);
  return buffer;
}

void list_ids::note(list_buffer& buffer, std::size_t first, std::size_t end) noexcept {
  auto bits = buffer.id_bits.load(std::memory_order_relaxed);
  if (bits == 0)
    return;
  auto mask = (std::size_t{1} << bits) - 1;
  auto* table = table_of(buffer);
  for (auto i = first; i < end; ++i) {
    auto fingerprint = value_access::id_fingerprint(buffer.slots()[i]);
    if (fingerprint == 0)
      continue;
    auto at = fingerprint & mask;
    while (auto noted = table[at].load(std::memory_order_relaxed)) {
      if (value_access::id_fingerprint(buffer.slots()[noted - 1]) == fingerprint)
        return buffer.id_bits.store(0, std::memory_order_relaxed);
      at = (at + 1) & mask;
    }
    table[at].store(static_cast<std::uint32_t>(i + 1), std::memory_order_relaxed);
  }
}

} // namespace troupe::detail
