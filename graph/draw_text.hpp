// Text in drawings: made harmless and short once, for every format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::drawing {

/// The character at the front of `text`, which is not empty, and its length in bytes. A byte that
/// begins no UTF-8 character gives U+FFFD and length 1.
struct character {
  char32_t code;
  std::size_t bytes;
};
character front_character(std::string_view text) noexcept;

/// `text` as one line of valid UTF-8. Controls, line ends and marks that change the text direction
/// become spaces; bytes that are not UTF-8 and characters that XML forbids become U+FFFD.
std::string printable(std::string_view text);

/// The first `most` characters of valid UTF-8, the last one `…` when there were more.
std::string shortened(std::string_view text, std::size_t most);

/// The approximate width of `text` in a usual sans-serif font, in units of the font's size; rather
/// too large than too small.
double text_width(std::string_view text) noexcept;

} // namespace troupe::drawing
