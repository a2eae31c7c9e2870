// Text in drawings: made harmless and short once, for every format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::drawing {

/// The character at the front of `text`, which is not empty, and its length in bytes; U+FFFD of
/// length 1 for a byte that begins no UTF-8.
struct character {
  char32_t code;
  std::size_t bytes;
};
character front_character(std::string_view text) noexcept;

/// `text` as one line of valid UTF-8: controls, line ends and marks that turn the direction of
/// text become spaces, what is no UTF-8 and what XML has no place for becomes U+FFFD.
std::string printable(std::string_view text);

/// The first `most` characters of valid UTF-8, the last one `…` when there were more.
std::string shortened(std::string_view text, std::size_t most);

/// About how wide `text` is, in units of the font's size, in a usual sans-serif font; rather too
/// much than too little.
double text_width(std::string_view text) noexcept;

} // namespace troupe::drawing
