// cut_utf8: the beginning of a text that may be too long.
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe {

/// The text up to `bytes_max` bytes, never cut within a UTF-8 character.
/// Shape:  of bytes that are not UTF-8, at most three fewer.
inline std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) noexcept {
  if (text.size() <= bytes_max)
    return text;
  auto end = bytes_max;
  while (end > 0 && bytes_max - end < 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end);
}

} // namespace troupe
