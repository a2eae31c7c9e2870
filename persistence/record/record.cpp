// record: the header of 16 bytes, which is the same in every format. FORMAT.md, "Record".
#include "persistence/record/record.hpp"

#define XXH_INLINE_ALL // needs no library
#include <xxhash.h>

#include <algorithm>

namespace troupe {

namespace {

constexpr char magic = 'T';
constexpr std::size_t length_at = 4;
constexpr std::size_t checksum_at = record_head_bytes;
constexpr unsigned known_flags = record_flag::encrypted | record_flag::compressed
                                 | record_flag::several_frames;

void put_number(char* at, std::uint64_t n, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    at[i] = static_cast<char>(n >> (8 * i));
}

std::uint64_t get_number(std::string_view bytes) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    n |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return n;
}

// Chained through the seed: header, then key, then payload.
std::uint64_t checksum(std::string_view record, std::string_view key) {
  auto payload = record.substr(record_header_bytes);
  auto sum = XXH3_64bits_withSeed(record.data(), checksum_at, key.size());
  sum = XXH3_64bits_withSeed(key.data(), key.size(), sum);
  return XXH3_64bits_withSeed(payload.data(), payload.size(), sum);
}

error too_new(record_kind kind) {
  return {errc::format_too_new,
          "read a " + std::string{to_string(kind)}
            + " record: it was written by a newer troupe: use a troupe that is as new"};
}

} // namespace

error damaged(record_kind kind, std::string_view what) {
  std::string text{"read a "};
  text.append(to_string(kind)).append(" record: ").append(what);
  return {errc::checkpoint_corrupt, std::move(text)};
}

std::string_view to_string(record_kind kind) noexcept {
  switch (kind) {
    case record_kind::meta: return "meta";
    case record_kind::thread: return "thread";
    case record_kind::ns: return "namespace";
    case record_kind::names: return "names";
    case record_kind::checkpoint: return "checkpoint";
    case record_kind::value: return "value";
    case record_kind::writes: return "writes";
    case record_kind::patch: return "patch";
    case record_kind::small_values: return "small values";
    case record_kind::key: return "key";
    case record_kind::cache_entry: return "cache's entry";
    case record_kind::cache_index: return "cache's index";
    case record_kind::space: return "store's namespace";
    case record_kind::item: return "store's item";
    case record_kind::item_end: return "store's end";
    case record_kind::vector: return "store's vector";
    case record_kind::document: return "document";
    case record_kind::document_index: return "document's index";
  }
  return "unknown";
}

void begin_record(std::string& out) {
  out.assign(record_header_bytes, '\0');
}

std::array<char, record_head_bytes> record_head(record_kind kind, std::uint8_t flags,
                                                std::size_t payload_bytes) {
  std::array<char, record_head_bytes> head{magic, static_cast<char>(record_format),
                                           static_cast<char>(kind), static_cast<char>(flags)};
  put_number(&head[length_at], payload_bytes, 4);
  return head;
}

void seal_record(std::string& out, std::string_view key, record_kind kind, std::uint8_t flags) {
  std::ranges::copy(record_head(kind, flags, out.size() - record_header_bytes), out.begin());
  put_number(&out[checksum_at], checksum(out, key), 8);
}

record_kind kind_of(std::string_view stored) noexcept {
  return static_cast<record_kind>(stored.size() < record_header_bytes ? 0 : stored[2]);
}

std::uint64_t checksum_of(std::string_view stored) noexcept {
  return stored.size() < record_header_bytes ? 0 : get_number(stored.substr(checksum_at, 8));
}

std::uint32_t short_checksum(std::string_view stored) noexcept {
  return static_cast<std::uint32_t>(checksum_of(stored));
}

result<std::string_view> open_flagged_record(std::string_view stored, std::string_view key,
                                             record_kind kind) {
  if (stored.size() < record_header_bytes || stored[0] != magic)
    return damaged(kind, "not a record");
  if (get_number(stored.substr(length_at, 4)) != stored.size() - record_header_bytes)
    return damaged(kind, "its length does not match");
  if (get_number(stored.substr(checksum_at, 8)) != checksum(stored, key))
    return damaged(kind, "its checksum does not match");
  if (static_cast<std::uint8_t>(stored[1]) > record_format
      || (flags_of(stored) & ~known_flags) != 0)
    return too_new(kind);
  if (static_cast<record_kind>(stored[2]) != kind)
    return damaged(kind, "a record of another kind");
  return stored.substr(record_header_bytes);
}

result<std::string_view> open_record(std::string_view stored, std::string_view key,
                                     record_kind kind) {
  auto payload = open_flagged_record(stored, key, kind);
  if (payload && flags_of(stored) != 0)
    return too_new(kind);
  return payload;
}

} // namespace troupe
