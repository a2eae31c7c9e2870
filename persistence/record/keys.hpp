// The keys of the store: one ordered key space, laid out so that what is written together lies
// together. FORMAT.md, "Keys".
#pragma once

#include <troupe/saver.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The first byte of a key. Storage format: append only.
enum class key_area : unsigned char {
  meta = 0x00,
  thread = 0x01, // thread_id → thread record
  chain = 0x10,  // everything of one (thread, namespace)
};

/// What a key of the chain area holds, in the order of the keys. Storage format: append only.
enum class chain_part : unsigned char {
  checkpoints = 'c',
  key = 'k', // of a thread, under its number: the only one of its kind
  names = 'n',
  namespaces = 's',
  values = 'v',
  writes = 'w',
};
inline constexpr std::array chain_parts{chain_part::checkpoints, chain_part::key,
                                        chain_part::names,       chain_part::namespaces,
                                        chain_part::values,      chain_part::writes};

/// A key of at most 511 bytes, LMDB's bound. Made by the functions below; ids must have been
/// checked against limits (that is what keeps keys in bounds).
class store_key {
public:
  static constexpr std::size_t size_max = 511;

  std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  operator std::string_view() const noexcept { return view(); }

  void append(std::string_view bytes);
  void append_byte(unsigned char b) { append({reinterpret_cast<const char*>(&b), 1}); }
  /// A length byte and the number without leading zeros, highest byte first: sorts as the number.
  void append_number(std::uint64_t n);
  /// An id behind which more follows: 0xff and 16 bytes for a lower-case UUID, else a length byte
  /// and the text. Does not sort as the text.
  void append_id(std::string_view id);

private:
  std::array<char, size_max + 1> bytes_;
  std::size_t size_ = 0;
};

/// A number that sorts among others like it as `n` does, and back.
constexpr std::uint64_t sorting_number(std::int64_t n) noexcept {
  return static_cast<std::uint64_t>(n) ^ std::uint64_t{1} << 63;
}
constexpr std::int64_t signed_number(std::uint64_t sorting) noexcept {
  return static_cast<std::int64_t>(sorting ^ std::uint64_t{1} << 63);
}

store_key meta_key();
store_key thread_key(std::string_view thread_id);
/// What all keys of a thread's or namespace's chain begin with.
store_key chain_prefix(std::uint64_t chain);
store_key chain_prefix(std::uint64_t chain, chain_part part);
/// The names that begin with number `first`.
store_key names_key(std::uint64_t thread, std::uint64_t first);
/// Where a thread's data key is.
store_key data_key_key(std::uint64_t thread);
/// Namespaces of up to 400 bytes stand in the key; longer ones as their XXH3-128.
store_key namespace_key(std::uint64_t thread, std::string_view ns);
bool namespace_in_key(std::string_view ns) noexcept;
/// Sorts as the id.
store_key checkpoint_key(std::uint64_t chain, std::string_view checkpoint_id);
/// Where the small values of a version are, and behind them the others, each alone. Sorts by
/// version, so that the values of a step lie together.
store_key small_values_key(std::uint64_t chain, const version& at);
store_key value_key(std::uint64_t chain, const version& at, std::uint64_t channel);
store_key writes_key(std::uint64_t chain, std::string_view checkpoint_id, std::string_view task_id);
store_key writes_prefix(std::uint64_t chain, std::string_view checkpoint_id);

/// The trees of the store's file: one each for checkpoints, values and writes, one for all else.
std::size_t tree_of(std::string_view key) noexcept;
inline constexpr std::array<const char*, 3> tree_names{"checkpoints", "values", "writes"};
/// Whether an entry is one that LMDB made for a tree with a name.
bool is_tree_name(std::string_view key) noexcept;

/// The smallest key behind all keys that begin with `prefix`.
store_key behind(const store_key& prefix);

/// Takes a number or an id, as appended, off the front of `rest`; nothing when it is damaged.
std::optional<std::uint64_t> take_number(std::string_view& rest);
std::optional<std::string> take_id(std::string_view& rest);

/// What the key of a value says, or that of a version's small values, which have no channel.
struct value_key_parts {
  std::uint64_t chain = 0;
  version at;
  std::optional<std::uint64_t> channel;
};
/// Nothing for any other key.
std::optional<value_key_parts> read_value_key(std::string_view key);

/// An id inside a payload, as append_id writes it.
void append_id(std::string& out, std::string_view id);

} // namespace troupe
