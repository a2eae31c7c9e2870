// The nodes that a value's handle points to, and the codecs' way to build values from parts.
#pragma once

#include <troupe/value.hpp>

namespace troupe {

static_assert(std::endian::native == std::endian::little,
              "the handle's layout and the hash are written for little endian");

namespace detail {

/// Elements 0 … `used` - 1 are made and never change; a version of the list sees the first n of
/// them. The thread that moves `used` from n to n + k owns the slots between until its handle
/// exists.
struct list_buffer : value_node {
  std::atomic<std::size_t> used{0};
  std::atomic<std::size_t> made{0}; // how many of the used ones are complete
  std::size_t capacity;

  list_buffer(std::uint32_t r, std::size_t c) noexcept
    : value_node{r, shape_kind::list},
      capacity{c} {}
  value* slots() noexcept { return reinterpret_cast<value*>(this + 1); }
};

/// Entries in key order, each key once.
struct map_node : value_node {
  std::size_t count = 0;

  map_node() noexcept : value_node{1, shape_kind::map} {}
  map_entry* entries() noexcept { return reinterpret_cast<map_entry*>(this + 1); }
};

struct extension_node : value_node {
  value payload;

  extension_node(std::uint32_t r, value p) noexcept
    : value_node{r, shape_kind::extension},
      payload(std::move(p)) {}
};

/// The reason why `payload` cannot be the payload of an extension `kind`; empty when it can.
std::string_view payload_problem(value_kind kind, const value& payload) noexcept;

/// The member name of an extension kind in JSON ("$message" …). Empty for every other kind.
std::string_view json_name(value_kind kind) noexcept;

} // namespace detail

/// Builds values from parts, and takes them apart.
struct value_access {
  /// A list of these items, which are moved from.
  static value list(std::span<value> items);
  /// A map of key, value, key, value …, which are moved from; every key is a string. The last one
  /// of equal keys counts; `duplicates` reports that there were some.
  static value map(std::span<value> keys_and_values, bool& duplicates);

  /// A list or map that its maker fills, slot by slot, before anyone else sees it. A slot holds
  /// null until then.
  struct unfilled_list {
    value made;
    std::span<value> slots;
    /// Call it once, when all slots are filled.
    void settle() noexcept;
  };
  struct unfilled_map {
    value made;
    std::span<detail::map_entry> slots; // in any order
    /// As that of a list. Result: whether each key stands once.
    bool settle();

  private:
    friend value_access;
    detail::map_node* node = nullptr; // null for the empty map
  };
  static unfilled_list list_of_nulls(std::size_t count);
  static unfilled_map map_of_nulls(std::size_t count);

  /// The handle's reference, which passes to the caller.
  static detail::value_node* release(value& v) noexcept {
    auto* node = v.counted() ? v.node() : nullptr;
    v.forget();
    return node;
  }
  static std::uint32_t rank(const value& v) noexcept { return v.counted() ? v.node()->rank : 0; }
  static std::uint64_t bits(const value& v) noexcept { return v.bits_; }
  static std::string_view text(const value& v) noexcept { return v.text(); }
  static bool same_words(const value& a, const value& b) noexcept {
    return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof a) == 0;
  }

  /// The values that a value consists of: list elements, keys and values of a map, a payload.
  static std::size_t child_count(const value& v) noexcept;
  static const value& child(const value& v, std::size_t i) noexcept;
};

} // namespace troupe
