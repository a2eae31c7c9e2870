// keys: the keys of the store. They form one ordered key space, laid out so that records which are
// written together lie together. FORMAT.md, "Keys".
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
  chain = 0x10,  // all records of one (thread, namespace)
};

/// The contents of a key in the chain area, in the order of the keys. Storage format: append only.
enum class chain_part : unsigned char {
  checkpoints = 'c', // and the writes of their tasks
  key = 'k',         // of a thread, under its number: the only one of its kind
  names = 'n',
  namespaces = 's',
  values = 'v',
  old_writes = 'w', // where stores of format 2 have them
};
inline constexpr std::array chain_parts{chain_part::checkpoints, chain_part::key,
                                        chain_part::names,       chain_part::namespaces,
                                        chain_part::values,      chain_part::old_writes};

/// A key of at most 511 bytes, LMDB's bound. Made by the functions below. Ids must have been
/// checked against limits, which keeps keys in bounds.
class store_key {
public:
  static constexpr std::size_t size_max = 511;

  std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  operator std::string_view() const noexcept { return view(); }

  void append(std::string_view bytes);
  void append_byte(unsigned char b) { append({reinterpret_cast<const char*>(&b), 1}); }
  /// Appends a length byte and the number without leading zeros, highest byte first: sorts as the
  /// number.
  void append_number(std::uint64_t n);
  /// Appends an id that is followed by more: 0xff and 16 bytes for a lower-case UUID, else a length
  /// byte and the text. Does not sort as the text.
  void append_id(std::string_view id);

private:
  std::array<char, size_max + 1> bytes_;
  std::size_t size_ = 0;
};

/// A number that sorts among other such numbers as `n` does, and back.
constexpr std::uint64_t sorting_number(std::int64_t n) noexcept {
  return static_cast<std::uint64_t>(n) ^ std::uint64_t{1} << 63;
}
constexpr std::int64_t signed_number(std::uint64_t sorting) noexcept {
  return static_cast<std::int64_t>(sorting ^ std::uint64_t{1} << 63);
}

store_key meta_key();
store_key thread_key(std::string_view thread_id);
/// The beginning of all keys of a thread's or namespace's chain.
store_key chain_prefix(std::uint64_t chain);
store_key chain_prefix(std::uint64_t chain, chain_part part);
/// The key of the names that begin with number `first`.
store_key names_key(std::uint64_t thread, std::uint64_t first);
/// The key of a thread's data key.
store_key data_key_key(std::uint64_t thread);
/// Namespaces of up to 400 bytes stand in the key; longer ones as their XXH3-128.
store_key namespace_key(std::uint64_t thread, std::string_view ns);
bool namespace_in_key(std::string_view ns) noexcept;
/// The id must not contain a zero byte (check_ref). Sorts as the id.
store_key checkpoint_key(std::uint64_t chain, std::string_view checkpoint_id);
/// The keys of a checkpoint's writes follow its own key, so that a step is written in one place.
store_key writes_key(std::uint64_t chain, std::string_view checkpoint_id, std::string_view task_id);
store_key writes_prefix(std::uint64_t chain, std::string_view checkpoint_id);
store_key old_writes_key(std::uint64_t chain, std::string_view checkpoint_id,
                         std::string_view task_id);
store_key old_writes_prefix(std::uint64_t chain, std::string_view checkpoint_id);
/// The key of a version's small values, and those of its other values, one each, which follow it.
/// Sorts by version, so that the values of a step lie together.
store_key small_values_key(std::uint64_t chain, const version& at);
store_key value_key(std::uint64_t chain, const version& at, std::uint64_t channel);

/// The tree of the store's file that holds a key: one tree each for checkpoints with their writes,
/// for values and for writes of format 2, one for everything else.
std::size_t tree_of(std::string_view key) noexcept;
inline constexpr std::array<const char*, 3> tree_names{"checkpoints", "values", "writes"};
/// Whether LMDB made this entry for a named tree.
bool is_tree_name(std::string_view key) noexcept;

/// The smallest key after all keys that begin with `prefix`.
store_key behind(const store_key& prefix);

/// Takes a number or an id, as appended, off the front of `rest`; nullopt when it is damaged.
std::optional<std::uint64_t> take_number(std::string_view& rest);
std::optional<std::string> take_id(std::string_view& rest);
/// The same in the place of another id. False when it is damaged.
bool take_id(std::string_view& rest, std::string& into);

/// The parts of the key of a value, or of the key of a version's small values, which has no
/// channel.
struct value_key_parts {
  std::uint64_t chain = 0;
  version at;
  std::optional<std::uint64_t> channel;
};
/// nullopt for any other key.
std::optional<value_key_parts> read_value_key(std::string_view key);

/// The parts of the key of a checkpoint, or of the key of a task's writes.
/// Owns:   nothing.
struct step_key_parts {
  std::string_view checkpoint_id;
  std::optional<std::string_view> task_id; // for take_id()
};
/// `rest`: the key after the prefix of its chain's checkpoints.
step_key_parts read_step_key(std::string_view rest) noexcept;

/// An id inside a payload, as append_id writes it.
void append_id(std::string& out, std::string_view id);

} // namespace troupe
