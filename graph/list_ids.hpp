// The table of ids beside a list's elements: finds a message by its id without a pass over the
// list.
//
// Invariants:
//  - The table follows the slots of the list's buffer. The versions of the list share it, and each
//    ignores the places beyond its own end.
//  - Only the thread that makes slots notes them, before their handle exists. A noted place stays,
//    so readers take no lock.
//  - No two noted elements have equal fingerprints. A buffer in which they would gives its table
//    up.
#pragma once

#include "graph/value_node.hpp"

#include <atomic>
#include <bit>

namespace troupe::detail {

/// A list's table of ids, if it has one. A list gets it as it grows beyond `list_size_min` and
/// holds messages.
class list_ids {
public:
  static constexpr std::size_t list_size_min = 64; // so many handles are looked at at less cost
  static constexpr auto nowhere = static_cast<std::size_t>(-1);

  explicit list_ids(const value& list) noexcept;
  /// Whether the list has a table.
  explicit operator bool() const noexcept { return bits_ != 0; }
  /// The place of the message or removal whose id has this fingerprint; `nowhere` without one.
  std::size_t place(std::uint64_t fingerprint) const noexcept;

  /// A buffer for a list that grows: with a table when `old`, its elements so far, are messages.
  static list_buffer* new_buffer(std::uint32_t rank, std::size_t capacity,
                                 std::span<const value> old);
  /// Notes the elements from `first` up to `end`, which the caller made.
  static void note(list_buffer& buffer, std::size_t first, std::size_t end) noexcept;

private:
  using slot = std::atomic<std::uint32_t>; // a place plus one; 0 is free

  static slot* table_of(list_buffer& buffer) noexcept {
    return reinterpret_cast<slot*>(buffer.slots() + buffer.capacity);
  }
  // At most half of the table is in use.
  static unsigned bits_for(std::size_t capacity) noexcept {
    return static_cast<unsigned>(std::bit_width(capacity - 1)) + 1;
  }

  list_buffer* buffer_;
  unsigned bits_;
  std::size_t size_; // of this version
};

} // namespace troupe::detail
