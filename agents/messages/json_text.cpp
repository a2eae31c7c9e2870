// json_text: printing and reading JSON for models.
#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace troupe {
namespace {

void print(const value& v, std::string& out) {
  if (v.is_list()) {
    out += '[';
    for (const auto& item : v.items()) {
      if (&item != v.items().data())
        out += ", ";
      print(item, out);
    }
    out += ']';
  } else if (v.is_map()) {
    out += '{';
    for (const auto& e : v.entries()) {
      if (&e != v.entries().data())
        out += ", ";
      out += to_json(e.key_value) + ": ";
      print(e.val, out);
    }
    out += '}';
  } else {
    out += to_json(v);
  }
}

// Escapes line breaks and other raw control characters within strings, as JSON requires.
std::string with_escaped_controls(std::string_view json) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  bool in_string = false;
  bool escaped = false;
  for (char c : json) {
    if (in_string && static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
      escaped = false;
      continue;
    }
    if (c == '"' && !escaped)
      in_string = !in_string;
    escaped = in_string && !escaped && c == '\\';
    out += c;
  }
  return out;
}

} // namespace

std::string spaced_json(const value& v) {
  std::string out;
  print(v, out);
  return out;
}

result<value> read_arguments(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    return value::map();
  auto read = from_json(text, json_form::plain);
  return read ? read : from_json(with_escaped_controls(text), json_form::plain);
}

std::string text_in(const value& v) {
  return v.is_string() ? v.as<std::string>() : std::string{};
}

std::string quoted_text(std::string_view text) {
  bool single = text.find('\'') != std::string_view::npos;
  bool both = single && text.find('"') != std::string_view::npos;
  char quote = single && !both ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text)
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (c == quote)
          out += '\\';
        out += c;
    }
  return out + quote;
}

std::size_t character_count(std::string_view text) noexcept {
  // All bytes but those that continue a character, 8 at a time.
  auto continued = [](std::uint64_t bytes) {
    return static_cast<std::size_t>(
      std::popcount(bytes >> 7 & ~bytes >> 6 & 0x0101'0101'0101'0101));
  };
  auto out = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t bytes;
    std::memcpy(&bytes, text.data(), 8);
    out -= continued(bytes);
  }
  for (char c : text)
    out -= continued(static_cast<unsigned char>(c));
  return out;
}

} // namespace troupe
