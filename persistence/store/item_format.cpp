// The long-term store's file: writing and reading its keys and payloads.
#include "persistence/store/item_format.hpp"

#include "persistence/record/bytes.hpp"
#include "persistence/store/store_namespace.hpp"
#include "persistence/store/vector_bytes.hpp"

#define XXH_INLINE_ALL // needs no library
#include <xxhash.h>

namespace troupe {

namespace {

enum class item_area : unsigned char {
  meta = 0x00,
  spaces = 0x20,
  items = 0x21,
  ends = 0x22,
  vectors = 0x23
};

constexpr std::size_t name_in_key_max = 400;
static_assert(1 + 9 + name_in_key_max + sizeof(XXH128_canonical_t) <= store_key::size_max);

store_key area_key(item_area area) {
  store_key key;
  key.append_byte(static_cast<unsigned char>(area));
  return key;
}

// The beginning of a name, followed by a hash when the name is longer; a cut name has a length that
// no whole name has.
void append_name(store_key& key, std::string_view name) {
  key.append(name.substr(0, name_in_key_max));
  if (name.size() <= name_in_key_max)
    return;
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(name.data(), name.size()));
  key.append({reinterpret_cast<const char*>(hash.digest), sizeof(hash.digest)});
}

error damaged_item(std::string_view what) {
  std::string text{"read a store's "};
  return {errc::checkpoint_corrupt, text.append(what).append(" record: its content is malformed")};
}

void append_parts(const store_namespace& space, std::string& out) {
  append_varint(out, space.size());
  for (const auto& part : space)
    append_sized(out, part);
}

store_namespace take_parts(byte_reader& in) {
  store_namespace space;
  auto count = in.count();
  space.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    space.emplace_back(in.sized());
  return space;
}

} // namespace

// ---- keys ---------------------------------------------------------------------------------------

store_key items_meta_key() {
  auto key = area_key(item_area::meta);
  key.append("troupe-store");
  return key;
}

store_key items_data_key() {
  auto key = area_key(item_area::meta);
  key.append("data-key");
  return key;
}

store_key space_key(const store_namespace& space) {
  auto key = area_key(item_area::spaces);
  append_name(key, namespace_bytes(space));
  return key;
}

store_key spaces_prefix(const store_namespace& prefix) {
  auto key = area_key(item_area::spaces);
  auto bytes = namespace_bytes(prefix);
  key.append(std::string_view{bytes}.substr(0, name_in_key_max));
  return key;
}

store_key items_prefix(std::uint64_t space) {
  auto key = area_key(item_area::items);
  key.append_number(space);
  return key;
}

store_key item_key(std::uint64_t space, std::string_view name) {
  auto key = items_prefix(space);
  append_name(key, name);
  return key;
}

std::optional<std::string_view> cut_name(std::string_view name) {
  return name.size() <= name_in_key_max ? std::nullopt
                                        : std::optional{name.substr(0, name_in_key_max)};
}

store_key item_ends_prefix() {
  return area_key(item_area::ends);
}

store_key item_end_key(std::int64_t end, std::uint64_t number) {
  auto key = item_ends_prefix();
  key.append_number(sorting_number(end));
  key.append_number(number);
  return key;
}

store_key vectors_prefix() {
  return area_key(item_area::vectors);
}

store_key vectors_prefix(std::uint64_t number) {
  auto key = vectors_prefix();
  key.append_number(number);
  return key;
}

store_key vector_key(std::uint64_t number, std::uint64_t place) {
  auto key = vectors_prefix(number);
  key.append_number(place);
  return key;
}

std::optional<item_end> read_item_end_key(std::string_view key) {
  auto rest = key.substr(1);
  auto end = take_number(rest);
  auto number = end ? take_number(rest) : std::nullopt;
  if (!number || !rest.empty())
    return std::nullopt;
  return item_end{signed_number(*end), *number};
}

std::optional<std::uint64_t> read_vector_key(std::string_view key) {
  auto rest = key.substr(1);
  auto number = take_number(rest);
  return number && take_number(rest) && rest.empty() ? number : std::nullopt;
}

std::optional<std::uint64_t> space_of_item_key(std::string_view key) {
  if (key.empty() || key.size() > store_key::size_max
      || key[0] != static_cast<char>(item_area::items))
    return std::nullopt;
  auto rest = key.substr(1);
  return take_number(rest);
}

// ---- payloads -----------------------------------------------------------------------------------

void append_items_meta(const items_meta& meta, std::string& out) {
  append_varint(out, item_format);
  append_varint(out, meta.last_number);
}

result<items_meta> read_items_meta(std::string_view payload) {
  byte_reader in{payload};
  auto format = in.varint();
  if (format > item_format)
    return troupe::error{errc::format_too_new, "open the store: it has format "
                                                 + std::to_string(format) + ", this troupe knows "
                                                 + std::to_string(item_format)
                                                 + ": use a newer troupe"};
  items_meta meta{.last_number = in.varint()};
  if (!in.finished() || format == 0)
    return damaged_item("meta");
  return meta;
}

void append_space(const stored_space& space, std::string& out) {
  append_varint(out, space.number);
  append_parts(space.space, out);
}

result<stored_space> open_space(std::string_view stored, std::string_view key) {
  auto payload = open_record(stored, key, record_kind::space);
  if (!payload)
    return payload.error();
  byte_reader in{*payload};
  stored_space space;
  space.number = in.varint();
  space.space = take_parts(in);
  if (!in.finished() || space.number == 0)
    return damaged_item("namespace");
  return space;
}

void append_item(const stored_item& item, bool has_vectors, std::string_view encoded,
                 std::string& out) {
  append_varint(out, item.number);
  append_signed(out, item.created);
  append_signed(out, item.updated);
  out.push_back(has_vectors ? 1 : 0);
  append_varint(out, item.end == store_no_end ? 0 : static_cast<std::uint64_t>(item.ttl.count()));
  if (item.end != store_no_end)
    append_signed(out, item.end);
  append_parts(item.space, out);
  append_sized(out, item.key);
  out.append(encoded);
}

result<item_head> read_item_head(std::string_view payload) {
  byte_reader in{payload};
  item_head head;
  auto& item = head.item;
  item.number = in.varint();
  item.created = in.signed_varint();
  item.updated = in.signed_varint();
  head.has_vectors = in.byte() != 0;
  auto ttl = in.varint();
  if (ttl != 0) {
    item.ttl = store_ttl{static_cast<std::int64_t>(ttl)};
    item.end = in.signed_varint();
  }
  item.space = take_parts(in);
  item.key = in.sized();
  head.encoded = in.rest();
  if (!in.ok() || item.number == 0 || item.space.empty() || !times_fit(item))
    return damaged_item("item");
  return head;
}

result<stored_item> read_item(std::string_view payload) {
  auto head = read_item_head(payload);
  if (!head)
    return head.error();
  auto v = from_msgpack(head->encoded);
  if (!v || !v->is_map())
    return damaged_item("item");
  head->item.value = std::move(*v);
  return std::move(head->item);
}

void append_item_end(std::string_view item_key, std::string& out) {
  out.append(item_key);
}

result<std::string_view> open_item_end(std::string_view stored, std::string_view key) {
  auto payload = open_record(stored, key, record_kind::item_end);
  if (payload && !space_of_item_key(*payload))
    return damaged_item("end");
  return payload;
}

void append_vector(std::string_view item_key, const store_vector& numbers, std::string& out) {
  append_sized(out, item_key);
  append_varint(out, numbers.size());
  append_vector_bytes(numbers, out);
}

result<stored_vector> read_vector(std::string_view payload) {
  byte_reader in{payload};
  stored_vector vector;
  vector.item_key = in.sized();
  auto count = in.varint();
  auto numbers = read_vector_bytes(in.rest());
  if (!in.ok() || !space_of_item_key(vector.item_key) || !numbers || numbers->size() != count)
    return damaged_item("vector");
  vector.numbers = std::move(*numbers);
  return vector;
}

} // namespace troupe
