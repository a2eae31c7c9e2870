// The uuid: a 128-bit id, and its text.
#pragma once

#include <troupe/json_schema.hpp>
#include <troupe/value.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// A 128-bit id. Ids are ordered as their text.
/// Shape:  16 bytes, in the order of the text; all zero in a default-constructed one.
/// Errors: none.
/// Source: Python's uuid.UUID; RFC 9562.
struct uuid {
  std::array<std::byte, 16> bytes{};

  friend bool operator==(const uuid&, const uuid&) = default;
  friend std::strong_ordering operator<=>(const uuid& a, const uuid& b) noexcept {
    for (std::size_t i = 0; i < a.bytes.size(); ++i)
      if (a.bytes[i] != b.bytes[i])
        return a.bytes[i] <=> b.bytes[i];
    return std::strong_ordering::equal;
  }
};

/// The text of an id.
/// Shape:  36 characters, lower case: "6ba7b810-9dad-11d1-80b4-00c04fd430c8".
/// Errors: none.
/// Source: RFC 9562, section 4.
std::string to_string(const uuid& id);

/// The id of a text.
/// Shape:  `text` as to_string writes it; hexadecimal digits of either case. Nothing else is
///         accepted: no braces, no prefix, no missing dashes.
/// Errors: invalid_value.
/// Source: RFC 9562, section 4.
result<uuid> read_uuid(std::string_view text);

/// An id as its text.
/// Errors: throws error{invalid_value}.
/// Source: pydantic's of uuid.UUID.
template <> struct value_traits<uuid> {
  static value to(const uuid& id) { return to_string(id); }
  static uuid from(const value& v) { return read_uuid(v.as_string()).value(); }
  static bool fits(const value& v) { return v.is_string() && read_uuid(v.as_string()); }
};

template <> struct json_schema_traits<uuid> {
  static value make() { return {{"type", "string"}, {"format", "uuid"}}; }
};

} // namespace troupe
