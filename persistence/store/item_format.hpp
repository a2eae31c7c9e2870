// The keys and payloads of the long-term store's file. FORMAT.md, "The long-term store".
#pragma once

#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "persistence/store/store_backend.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The format that this version of troupe writes. A file of format 1, in which everything is plain,
/// is converted with the first change.
inline constexpr std::uint64_t item_format = 2;

// ---- keys ---------------------------------------------------------------------------------------

store_key items_meta_key();
/// The key of the file's data key.
store_key items_data_key();
/// The key of a namespace, made so that the namespaces under a prefix lie together, in order. The
/// first 400 of its bytes stand in the key, followed by a hash when there are more.
store_key space_key(const store_namespace& space);
/// The beginning of the keys of all namespaces under a prefix; keys of others may begin so, too.
store_key spaces_prefix(const store_namespace& prefix);
/// The keys of a namespace's items, by its number, in the order of their own keys, which are cut in
/// the same way.
store_key items_prefix(std::uint64_t space);
store_key item_key(std::uint64_t space, std::string_view key);
/// The beginning of a name that is cut in its key; nullopt for a name that stands there whole.
/// Shape:  `name`: the part of such a key that follows the prefix.
std::optional<std::string_view> cut_name(std::string_view name);
/// Sorts by end, then by number.
store_key item_ends_prefix();
store_key item_end_key(std::int64_t end, std::uint64_t number);
/// Sorts by number.
store_key vectors_prefix();
store_key vectors_prefix(std::uint64_t number);
store_key vector_key(std::uint64_t number, std::uint64_t place);

struct item_end {
  std::int64_t end = 0;
  std::uint64_t number = 0;
};
/// nullopt for a damaged key.
std::optional<item_end> read_item_end_key(std::string_view key);
std::optional<std::uint64_t> read_vector_key(std::string_view key);
/// The number of an item key's namespace.
std::optional<std::uint64_t> space_of_item_key(std::string_view key);

// ---- payloads -----------------------------------------------------------------------------------

struct items_meta {
  std::uint64_t last_number = 0; // the last one given to a namespace or an item
};
void append_items_meta(const items_meta& meta, std::string& out);
/// Errors: format_too_new, checkpoint_corrupt; the same for all functions below.
result<items_meta> read_items_meta(std::string_view payload);

struct stored_space {
  std::uint64_t number = 0;
  store_namespace space;
};
void append_space(const stored_space& space, std::string& out);
result<stored_space> open_space(std::string_view stored, std::string_view key);

/// The part of an item's record in front of its value.
struct item_head {
  stored_item item; // without its value
  bool has_vectors = false;
  std::string_view encoded; // the encoded value
};
void append_item(const stored_item& item, bool has_vectors, std::string_view encoded,
                 std::string& out);
/// Reads an opened record. Owns: nothing of the value.
result<item_head> read_item_head(std::string_view payload);
result<stored_item> read_item(std::string_view payload);

/// The payload of an end record: the key of its item.
void append_item_end(std::string_view item_key, std::string& out);
result<std::string_view> open_item_end(std::string_view stored, std::string_view key);

struct stored_vector {
  std::string_view item_key;
  store_vector numbers;
};
void append_vector(std::string_view item_key, const store_vector& numbers, std::string& out);
/// Reads an opened record. Owns: nothing of the key.
result<stored_vector> read_vector(std::string_view payload);

} // namespace troupe
