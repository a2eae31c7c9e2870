// The record: what stands around every stored payload, so that damage is seen.
#pragma once

#include <troupe/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// What a payload is. Storage format: append only.
enum class record_kind : std::uint8_t {
  meta = 1,
  thread = 2,
  ns = 3,
  names = 4,
  checkpoint = 5,
  value = 6,
  writes = 7,
  patch = 8, // a value as what it has that another one has not
};

std::string_view to_string(record_kind kind) noexcept;

/// A checkpoint_corrupt of a record of this kind.
error damaged(record_kind kind, std::string_view what = "it does not fit");

/// The format this troupe writes, and the newest it reads.
inline constexpr std::uint8_t record_format = 1;
inline constexpr std::size_t record_header_bytes = 16;

/// Empties `out` and leaves room for the header; the payload is appended behind it.
void begin_record(std::string& out);

/// Fills the header in. The checksum covers the header, the key and the payload, so a record that
/// turns up under another key is damage too.
void seal_record(std::string& out, std::string_view key, record_kind kind);

/// The kind a stored record says it has, and the lowest bits of its checksum; both unchecked.
/// 0 of what is no record.
record_kind kind_of(std::string_view stored) noexcept;
std::uint32_t short_checksum(std::string_view stored) noexcept;

/// The payload of a stored record.
/// Owns:   nothing; the payload lies in `stored`.
/// Errors: checkpoint_corrupt, format_too_new (only for a record that is whole).
result<std::string_view> open_record(std::string_view stored, std::string_view key,
                                     record_kind kind);

} // namespace troupe
