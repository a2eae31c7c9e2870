// See json_text.hpp.
#include "agents/json_text.hpp"

#include <algorithm>

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

} // namespace

std::string spaced_json(const value& v) {
  std::string out;
  print(v, out);
  return out;
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
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

} // namespace troupe
