// hex_text: bytes as hex digits, in memory of the caller.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// Appends two lower-case digits for each byte.
inline void append_hex(std::string_view bytes, std::string& out) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (auto c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
}

/// The value of a digit of either case; -1 for any other character.
inline int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Reads exactly `size` bytes. False for another number of digits, or another character.
inline bool read_hex(std::string_view text, char* out, std::size_t size) noexcept {
  if (text.size() != 2 * size)
    return false;
  for (std::size_t i = 0; i < size; ++i) {
    auto high = hex_value(text[2 * i]);
    auto low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    out[i] = static_cast<char>(high << 4 | low);
  }
  return true;
}

} // namespace troupe
