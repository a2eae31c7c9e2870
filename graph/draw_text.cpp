// Text in drawings: decoding, cleaning and shortening.
#include "graph/draw_text.hpp"

#include <array>

namespace troupe::drawing {
namespace {

struct character {
  char32_t code;
  std::size_t bytes; // of its UTF-8
};
constexpr character broken{0xfffd, 1};
constexpr std::string_view replacement = "\xef\xbf\xbd";

bool is_blank(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0)                             // controls
         || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) // line ends, directions
         || c == 0x200e || c == 0x200f || c == 0x61c;
}

// The character at the front of `text`, which is not empty. A byte that begins no UTF-8 character
// gives U+FFFD and length 1.
character front_character(std::string_view text) noexcept {
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto lead = byte(0);
  if (lead < 0x80)
    return {lead, 1};
  std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
    return broken;
  char32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return broken;
    code = code << 6 | (byte(i) & 0x3f);
  }
  bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[length] || code > 0x10ffff || surrogate)
    return broken;
  return {code, length};
}

} // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto [code, bytes] = front_character(text);
    if (is_blank(code))
      out += ' ';
    else if (code == 0xfffd || code == 0xfffe || code == 0xffff)
      out += replacement;
    else
      out += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t kept = 0; // bytes of the first most - 1 characters
  std::size_t at = 0;
  for (std::size_t count = 0; at < text.size(); ++count) {
    if (count + 1 == most)
      kept = at;
    if (count == most)
      return std::string{text.substr(0, kept)} + "…";
    at += front_character(text.substr(at)).bytes;
  }
  return std::string{text};
}

} // namespace troupe::drawing
