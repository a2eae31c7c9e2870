// record: the header and checksum around every stored payload, so that damage is noticed.
#pragma once

#include <troupe/error.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// The kind of a payload. Storage format: append only.
enum class record_kind : std::uint8_t {
  meta = 1,
  thread = 2,
  ns = 3,
  names = 4,
  checkpoint = 5,
  value = 6,
  writes = 7,
  patch = 8,        // a value as its difference from another one
  small_values = 9, // the small values of one version
  key = 16,         // a data key, wrapped
  cache_entry = 32,
  cache_index = 33,
  space = 34, // from here on: the long-term store's
  item = 35,
  item_end = 36,
  vector = 37,
  document = 38, // from here on: the server's
  document_index = 39,
};

/// The transformations of a payload, compression first. Storage format: append only.
namespace record_flag {
inline constexpr std::uint8_t encrypted = 1;
inline constexpr std::uint8_t compressed = 2;
inline constexpr std::uint8_t several_frames = 4; // only with `compressed`
} // namespace record_flag

std::string_view to_string(record_kind kind) noexcept;

/// The error checkpoint_corrupt for a record of this kind.
error damaged(record_kind kind, std::string_view what = "its content is malformed");

/// Whether the record can't be read here at all: it is damaged, or of a newer troupe.
inline bool is_damage(const error& err) noexcept {
  return err.code() == errc::checkpoint_corrupt || err.code() == errc::format_too_new;
}

/// The format that this version of troupe writes, and the newest that it reads.
inline constexpr std::uint8_t record_format = 1;
inline constexpr std::size_t record_header_bytes = 16;
inline constexpr std::size_t record_head_bytes = 8; // the part of the header before the checksum

/// Empties `out` and leaves room for the header; the payload is appended after it.
void begin_record(std::string& out);

/// Fills in the header. The checksum covers the header, the key and the payload, so a record under
/// a wrong key counts as damaged too.
void seal_record(std::string& out, std::string_view key, record_kind kind, std::uint8_t flags = 0);

/// The header's first bytes, as seal_record will write them for a payload of that size.
std::array<char, record_head_bytes> record_head(record_kind kind, std::uint8_t flags,
                                                std::size_t payload_bytes);

/// The kind that a stored record claims to have, its checksum, and the checksum's lowest bits. None
/// is checked; all are 0 for bytes that are not a record.
record_kind kind_of(std::string_view stored) noexcept;
std::uint64_t checksum_of(std::string_view stored) noexcept;
std::uint32_t short_checksum(std::string_view stored) noexcept;

/// Checks a stored record as open_record() does, but allows flags.
/// Shape:  the payload as it is stored; flags_of() names its transformations.
/// Errors: as open_record.
result<std::string_view> open_flagged_record(std::string_view stored, std::string_view key,
                                             record_kind kind);

/// The flags of a record that was opened.
inline std::uint8_t flags_of(std::string_view stored) noexcept {
  return static_cast<std::uint8_t>(stored[3]);
}

/// The payload of a stored record of a kind that is never compressed or encrypted. record_opener
/// opens the other kinds.
/// Owns:   nothing; the payload lies in `stored`.
/// Errors: checkpoint_corrupt, format_too_new (only for a record that is intact).
result<std::string_view> open_record(std::string_view stored, std::string_view key,
                                     record_kind kind);

} // namespace troupe
