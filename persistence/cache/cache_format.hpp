// The keys and payloads of the cache's file. FORMAT.md, "Cache".
#pragma once

#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"

#include <troupe/node_cache.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The format that this version of troupe writes. A file of format 1, in which everything is plain,
/// is converted with the first change.
inline constexpr std::uint64_t cache_format = 2;

using cache_time = node_cache::clock::time_point;

// ---- keys ---------------------------------------------------------------------------------------

store_key cache_meta_key();
/// The key of the file's data key.
store_key cache_data_key();
/// All keys but those two begin with one of these.
store_key cache_entries_prefix();
store_key cache_ages_prefix();
store_key cache_ends_prefix();

/// Made of a hash of the place; the place itself is in the record.
store_key cache_entry_key(const cache_key& place);
/// Sorts by number, which is by age.
store_key cache_age_key(std::uint64_t number);
/// Sorts by end, then by age.
store_key cache_end_key(cache_time end, std::uint64_t number);

struct cache_end {
  cache_time end;
  std::uint64_t number = 0;
};
/// nullopt for a damaged key.
std::optional<std::uint64_t> read_cache_age_key(std::string_view key);
std::optional<cache_end> read_cache_end_key(std::string_view key);

// ---- payloads -----------------------------------------------------------------------------------

struct cache_meta {
  std::uint64_t next_number = 1;
  std::uint64_t charged_bytes = 0; // the sum over all entries
};
void append_cache_meta(const cache_meta& meta, std::string& out);
/// Errors: format_too_new, checkpoint_corrupt.
result<cache_meta> read_cache_meta(std::string_view payload);

struct cache_entry {
  std::uint64_t number = 0;
  std::optional<cache_time> until;
  std::string_view place;   // as cache_place gives it
  std::string_view encoded; // the encoded value
};
void append_cache_entry(const cache_entry& entry, std::string& out);
/// Reads an opened record. Owns: nothing. Errors: checkpoint_corrupt.
result<cache_entry> read_cache_entry(std::string_view payload);
/// The number that a stored plain entry claims to have, unchecked; 0 when it can't be read.
std::uint64_t peek_cache_entry_number(std::string_view stored);

/// The contents of an entry's age record.
struct cache_age {
  std::string_view entry_key;
  std::optional<cache_time> until;
  std::uint64_t charged_bytes = 0;
  std::string_view space; // the beginning of cache_place
};
void append_cache_age(const cache_age& age, std::string& out);
result<cache_age> open_cache_age(std::string_view stored, std::string_view key);

/// A space, or a space followed by a key, as bytes; different places have different bytes.
std::string cache_place(const std::vector<std::string>& space, std::string_view key = {});
/// Whether a stored space begins with all parts of another.
bool cached_space_is_under(std::string_view stored, const std::vector<std::string>& space);

/// The charge of an entry's two records, with their keys and the room that pages waste.
std::uint64_t cache_charge(std::size_t entry_record_bytes, std::size_t age_record_bytes);

} // namespace troupe
