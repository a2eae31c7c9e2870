// The nodes that a value's handle points to, and the codecs' way to build values from parts.
#pragma once

#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <algorithm>
#include <atomic>
#include <new>

namespace troupe {

static_assert(std::endian::native == std::endian::little,
              "the handle's layout and the hash are written for little endian");

namespace detail {

/// Elements 0 … `used` - 1 are made and never change; a version of the list sees the first n of
/// them. The thread that moves `used` from n to n + k owns the slots between until its handle
/// exists.
struct list_buffer : value_node {
  std::atomic<std::size_t> used{0};
  std::atomic<std::uint32_t> made{0};   // how many of the used ones are complete
  std::uint32_t capacity;               // a list beyond 32 bits is copied when it grows
  std::atomic<std::uint32_t> mark{0};   // see list_mark
  std::atomic<std::uint8_t> id_bits{0}; // of a hash in the table of list_ids; 0 without a table

  list_buffer(std::uint32_t r, std::size_t c) noexcept
    : value_node{r, shape_kind::list},
      capacity{clamped(c)} {}
  value* slots() noexcept { return reinterpret_cast<value*>(this + 1); }
  void complete(std::size_t count) noexcept {
    made.store(clamped(count), std::memory_order_release);
  }

private:
  static std::uint32_t clamped(std::size_t count) noexcept {
    return static_cast<std::uint32_t>(std::min<std::size_t>(count, UINT32_MAX));
  }
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

inline std::uint32_t rank_above(std::uint32_t rank) noexcept {
  return rank == UINT32_MAX ? rank : rank + 1;
}
/// The rank of a node that points to these values.
std::uint32_t rank_over(std::span<const value> children) noexcept;
list_buffer* new_list_buffer(std::uint32_t rank, std::size_t capacity);
map_node* new_map_node(std::size_t capacity);
value_node* new_blob(const void* data, std::size_t size);

/// Puts the entries in key order, each key once, where the last one of equal keys counts, and gives
/// the node its rank. Result: whether there were equal keys.
bool settle_entries(map_node& node);
/// The same without the rank.
bool sort_entries(map_node& node);

/// Copies at most 16 bytes without a call.
inline void copy_small(char* to, const char* from, std::size_t size) noexcept {
  if (size >= 8) {
    std::uint64_t first, last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + size - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + size - 8, &last, 8);
  } else if (size >= 4) {
    std::uint32_t first, last;
    std::memcpy(&first, from, 4);
    std::memcpy(&last, from + size - 4, 4);
    std::memcpy(to, &first, 4);
    std::memcpy(to + size - 4, &last, 4);
  } else if (size > 0) {
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
    to[0] = from[0];
  }
}

/// Several blobs in one allocation, which is freed with the last of them.
struct blob_block {
  std::atomic<std::uint64_t> live; // blobs, and a surplus while blobs are added

  static constexpr std::size_t word = 8; // the unit of value_node::place
  static blob_block* of(value_node* blob) noexcept {
    return reinterpret_cast<blob_block*>(reinterpret_cast<char*>(blob) - blob->place * word);
  }
  /// Frees the block when none is left.
  void release(std::uint64_t blobs) noexcept;
};

/// Makes the blobs of one decoded value. Short ones are made in blocks that grow with what was made
/// before, so little memory is left over.
class blob_maker {
public:
  blob_maker() = default;
  blob_maker(const blob_maker&) = delete;
  blob_maker& operator=(const blob_maker&) = delete;
  ~blob_maker() { close(); }

  value_node* make(std::string_view text) {
    auto bytes = bytes_for(text.size());
    if (bytes > static_cast<std::size_t>(end_ - at_)
        || text.size() > limits::value_block_string_bytes_max) {
      if (!open(text.size()))
        return new_blob(text.data(), text.size());
    }
    auto* node = new (at_) value_node{0, value_node::shape_kind::blob_in_block};
    node->place = static_cast<std::uint16_t>(
      static_cast<std::size_t>(at_ - reinterpret_cast<char*>(block_)) / word);
    std::memcpy(static_cast<void*>(node + 1), text.data(), text.size());
    at_ += bytes;
    ++made_;
    return node;
  }

private:
  static constexpr std::size_t word = blob_block::word;
  static constexpr std::uint64_t surplus = limits::value_block_bytes;

  static constexpr std::size_t bytes_for(std::size_t text) noexcept {
    return (sizeof(value_node) + text + word - 1) / word * word;
  }
  /// Begins a block with room for such a text. False when the text gets a node of its own.
  bool open(std::size_t text);
  void close() noexcept;

  blob_block* block_ = nullptr;
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::uint64_t made_ = 0; // in the block
  std::size_t total_ = 0;  // bytes of short blobs until the block began
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
    /// Call it once, when all slots are filled. `rank` is the highest among them.
    void settle(std::uint32_t rank) noexcept;
  };
  struct unfilled_map {
    value made;
    std::span<detail::map_entry> slots; // in any order
    /// As that of a list. Result: whether each key stands once.
    bool settle(std::uint32_t rank);

  private:
    friend value_access;
    detail::map_node* node = nullptr; // null for the empty map
  };
  static unfilled_list list_of_nulls(std::size_t count);
  static unfilled_map map_of_nulls(std::size_t count);
  /// A null is all zero.
  static void put_nulls(void* slots, std::size_t bytes) noexcept { std::memset(slots, 0, bytes); }
  /// An extension whose payload was found to fit.
  static value extension(value_kind kind, value payload);

  /// A text of at most `short_max` bytes; `text` can be read for `short_room` bytes.
  static constexpr std::size_t short_max = value::short_max;
  static constexpr std::size_t short_room = sizeof(value);
  static value short_text(const char* text, std::size_t size) noexcept {
    std::uint64_t words[2];
    std::memcpy(words, text, sizeof words);
    auto low = std::min<std::size_t>(size, 8), high = size - low;
    words[0] &= kept_bytes(low);
    words[1] = (words[1] & kept_bytes(high)) | std::uint64_t{size} << 48
               | std::uint64_t{static_cast<std::uint8_t>(value::tag::short_string)} << 56;
    value out;
    std::memcpy(static_cast<void*>(&out), words, sizeof words);
    return out;
  }
  /// A longer text.
  static value long_text(detail::blob_maker& blobs, std::string_view text) {
    return value(value::tag::string, blobs.make(text), text.size());
  }

  /// The handle's form, for a switch.
  using form = value::tag;
  static form form_of(const value& v) noexcept { return v.tag_; }
  static std::size_t short_size(const value& v) noexcept { return v.len_; }
  static std::size_t extent(const value& v) noexcept { return v.extent(); }
  static const value& payload(const value& extension) noexcept {
    return static_cast<detail::extension_node*>(extension.node())->payload;
  }
  /// 48 bits that are equal for equal ids of messages and of removals; 0 for other values.
  static std::uint64_t id_fingerprint(const value& v) noexcept {
    return v.tag_ == value::tag::extension ? v.extent() : 0;
  }
  static std::uint64_t id_fingerprint(std::string_view id) noexcept;

  /// Null for a value without a node.
  static detail::value_node* node_of(const value& v) noexcept {
    return v.counted() ? v.node() : nullptr;
  }
  static std::uint32_t rank(const value& v) noexcept { // a blob's is 0
    return v.tag_ >= value::tag::list && v.counted() ? v.node()->rank : 0;
  }
  static std::uint64_t bits(const value& v) noexcept { return v.bits_; }
  static std::string_view text(const value& v) noexcept { return v.text(); }
  static detail::list_buffer* buffer_of(const value& v) noexcept {
    return v.is_list() && v.counted() ? static_cast<detail::list_buffer*>(v.node()) : nullptr;
  }
  /// The order of two texts by their bytes. Short ones compare as numbers, because their unused
  /// bytes are 0 and their lengths follow.
  static bool text_less(const value& a, const value& b) noexcept {
    if (a.tag_ != value::tag::short_string || b.tag_ != value::tag::short_string)
      return a.text() < b.text();
    auto words_of = [](const value& v, std::uint64_t(&words)[2]) {
      std::memcpy(words, static_cast<const void*>(&v), sizeof words);
    };
    std::uint64_t x[2], y[2];
    words_of(a, x);
    words_of(b, y);
    return x[0] != y[0] ? __builtin_bswap64(x[0]) < __builtin_bswap64(y[0])
                        : __builtin_bswap64(x[1]) < __builtin_bswap64(y[1]);
  }
  static bool same_words(const value& a, const value& b) noexcept {
    return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof a) == 0;
  }

  /// The values that a value consists of: list elements, keys and values of a map, a payload.
  static std::size_t child_count(const value& v) noexcept;
  static const value& child(const value& v, std::size_t i) noexcept;

private:
  static constexpr std::uint64_t kept_bytes(std::size_t count) noexcept {
    return count == 0 ? 0 : ~std::uint64_t{0} >> (64 - 8 * count);
  }
};

} // namespace troupe
