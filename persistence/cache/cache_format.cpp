// The cache's file: writing and reading its keys and payloads.
#include "persistence/cache/cache_format.hpp"

#include "persistence/record/bytes.hpp"

#define XXH_INLINE_ALL // needs no library
#include <xxhash.h>

namespace troupe {

namespace {

enum class cache_area : unsigned char {
  meta = 0x00,
  entries = 0x30,
  ages = 0x31,
  ends = 0x32,
  data_key = 0x33
};

store_key area_key(cache_area area) {
  store_key key;
  key.append_byte(static_cast<unsigned char>(area));
  return key;
}

// Times as numbers that sort in the same order.
std::uint64_t time_number(cache_time at) {
  auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch());
  return sorting_number(nanos.count());
}

cache_time number_time(std::uint64_t n) {
  std::chrono::nanoseconds nanos{signed_number(n)};
  return cache_time{std::chrono::duration_cast<cache_time::duration>(nanos)};
}

void append_until(const std::optional<cache_time>& until, std::string& out) {
  out.push_back(until ? 1 : 0);
  if (until)
    append_fixed64(out, time_number(*until));
}

std::optional<cache_time> take_until(byte_reader& in) {
  return in.byte() == 0 ? std::nullopt : std::optional{number_time(in.fixed64())};
}

error damaged_record(std::string_view what) {
  std::string text{"read a cache's "};
  return {errc::checkpoint_corrupt, text.append(what).append(" record: its content is malformed")};
}

} // namespace

// ---- keys ---------------------------------------------------------------------------------------

store_key cache_meta_key() {
  auto key = area_key(cache_area::meta);
  key.append("troupe-cache");
  return key;
}

store_key cache_data_key() {
  auto key = area_key(cache_area::meta);
  key.append("data-key");
  return key;
}

store_key cache_entries_prefix() {
  return area_key(cache_area::entries);
}

store_key cache_ages_prefix() {
  return area_key(cache_area::ages);
}

store_key cache_ends_prefix() {
  return area_key(cache_area::ends);
}

store_key cache_entry_key(const cache_key& place) {
  auto bytes = cache_place(place.space, place.key);
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes.data(), bytes.size()));
  auto key = cache_entries_prefix();
  key.append({reinterpret_cast<const char*>(hash.digest), sizeof(hash.digest)});
  return key;
}

store_key cache_age_key(std::uint64_t number) {
  auto key = cache_ages_prefix();
  key.append_number(number);
  return key;
}

store_key cache_end_key(cache_time end, std::uint64_t number) {
  auto key = cache_ends_prefix();
  key.append_number(time_number(end));
  key.append_number(number);
  return key;
}

std::optional<std::uint64_t> read_cache_age_key(std::string_view key) {
  auto rest = key.substr(1);
  auto number = take_number(rest);
  return rest.empty() ? number : std::nullopt;
}

std::optional<cache_end> read_cache_end_key(std::string_view key) {
  auto rest = key.substr(1);
  auto end = take_number(rest);
  auto number = end ? take_number(rest) : std::nullopt;
  if (!number || !rest.empty())
    return std::nullopt;
  return cache_end{number_time(*end), *number};
}

// ---- payloads -----------------------------------------------------------------------------------

void append_cache_meta(const cache_meta& meta, std::string& out) {
  append_varint(out, cache_format);
  append_varint(out, meta.next_number);
  append_varint(out, meta.charged_bytes);
}

result<cache_meta> read_cache_meta(std::string_view payload) {
  byte_reader in{payload};
  auto format = in.varint();
  if (format > cache_format)
    return troupe::error{errc::format_too_new, "open the cache: it has format "
                                                 + std::to_string(format) + ", this troupe knows "
                                                 + std::to_string(cache_format)
                                                 + ": use a newer troupe or delete the cache"};
  cache_meta meta{.next_number = in.varint(), .charged_bytes = in.varint()};
  if (!in.finished() || format == 0)
    return damaged_record("meta");
  return meta;
}

void append_cache_entry(const cache_entry& entry, std::string& out) {
  append_varint(out, entry.number);
  append_until(entry.until, out);
  append_sized(out, entry.place);
  out.append(entry.encoded);
}

result<cache_entry> read_cache_entry(std::string_view payload) {
  byte_reader in{payload};
  cache_entry entry;
  entry.number = in.varint();
  entry.until = take_until(in);
  entry.place = in.sized();
  entry.encoded = in.rest();
  if (!in.ok())
    return damaged_record("entry");
  return entry;
}

std::uint64_t peek_cache_entry_number(std::string_view stored) {
  return stored.size() < record_header_bytes
           ? 0
           : byte_reader{stored.substr(record_header_bytes)}.varint();
}

void append_cache_age(const cache_age& age, std::string& out) {
  append_sized(out, age.entry_key);
  append_until(age.until, out);
  append_varint(out, age.charged_bytes);
  out.append(age.space);
}

result<cache_age> open_cache_age(std::string_view stored, std::string_view key) {
  auto payload = open_record(stored, key, record_kind::cache_index);
  if (!payload)
    return payload.error();
  byte_reader in{*payload};
  cache_age age;
  age.entry_key = in.sized();
  age.until = take_until(in);
  age.charged_bytes = in.varint();
  age.space = in.rest();
  auto entries = cache_entries_prefix();
  if (!in.ok() || age.entry_key.size() != entries.view().size() + sizeof(XXH128_canonical_t)
      || !age.entry_key.starts_with(entries.view()))
    return damaged_record("age");
  return age;
}

std::string cache_place(const std::vector<std::string>& space, std::string_view key) {
  std::string place;
  append_varint(place, space.size());
  for (const auto& part : space)
    append_sized(place, part);
  return place.append(key);
}

bool cached_space_is_under(std::string_view stored, const std::vector<std::string>& space) {
  byte_reader in{stored};
  if (in.varint() < space.size())
    return false;
  for (const auto& part : space)
    if (in.sized() != part)
      return false;
  return in.ok();
}

// LMDB keeps a record of up to about half a page in a page of its tree, which is at worst half
// full. A larger record has whole pages to itself.
std::uint64_t cache_charge(std::size_t entry_record_bytes, std::size_t age_record_bytes) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t in_tree_max = 2000;
  constexpr std::size_t keys_and_end = 160;
  auto charge = [](std::size_t record) {
    return record <= in_tree_max ? 2 * record : (record + page) / page * page + page;
  };
  return charge(entry_record_bytes) + charge(age_record_bytes) + keys_and_end;
}

} // namespace troupe
