// request_head: checking lines and fields of a raw head.
#include "http/request_head.hpp"

#include <algorithm>

namespace troupe {
namespace {

bool is_token_character(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
         || std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

// In a field's value: visible, blank, or beyond ASCII.
bool is_field_character(char c) noexcept {
  auto code = static_cast<unsigned char>(c);
  return c == '\t' || (code >= 0x20 && code != 0x7f);
}

bool is_same_word(std::string_view a, std::string_view lower) noexcept {
  return std::ranges::equal(a, lower, [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x | 0x20) : x) == y;
  });
}

std::string_view without_blanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

// The fields that decide where a request ends, and for which host it is.
struct framing_fields {
  int lengths = 0;
  int codings = 0;
  int hosts = 0;
  bool is_valid = true;

  void take(std::string_view line) noexcept {
    auto name = line.substr(0, line.find(':'));
    is_valid = is_valid && name.size() < line.size() && !name.empty()
               && std::ranges::all_of(name, is_token_character)
               && std::ranges::all_of(line, is_field_character);
    if (!is_valid)
      return;
    auto text = without_blanks(line.substr(name.size() + 1));
    if (is_same_word(name, "content-length")) {
      ++lengths;
      is_valid = !text.empty()
                 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    } else if (is_same_word(name, "transfer-encoding")) {
      ++codings;
      is_valid = is_same_word(text, "chunked");
    } else if (is_same_word(name, "host")) {
      ++hosts;
    }
  }
};

// The first line, without its end. A line feed or carriage return in it is refused by its
// characters.
std::string_view next_line(std::string_view& head) noexcept {
  auto line = head.substr(0, head.find("\r\n"));
  head.remove_prefix(std::min(head.size(), line.size() + 2));
  return line;
}

} // namespace

std::size_t size_of_head(std::string_view bytes, std::size_t known) noexcept {
  auto at = bytes.find("\r\n\r\n", known < 3 ? 0 : known - 3);
  return at == bytes.npos ? 0 : at + 4;
}

bool may_begin_request(std::string_view bytes) noexcept {
  return bytes.empty() || is_token_character(bytes.front());
}

bool is_unambiguous_head(std::string_view head) noexcept {
  auto first = next_line(head);
  if (!std::ranges::all_of(first, is_field_character))
    return false;
  framing_fields fields;
  while (!head.empty() && fields.is_valid)
    if (auto line = next_line(head); !line.empty())
      fields.take(line);
  return fields.is_valid && fields.lengths + fields.codings <= 1 && fields.hosts <= 1
         && (fields.codings == 0 || first.ends_with("HTTP/1.1"));
}

} // namespace troupe
