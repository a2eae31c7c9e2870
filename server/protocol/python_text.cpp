// python_text: literals of Python.
#include "server/protocol/python_text.hpp"

#include "agents/messages/json_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace troupe::server {
namespace {

// The shortest digits that read back as this number; with an exponent where Python has one.
std::string python_number(double n) {
  if (std::isnan(n))
    return "nan";
  if (std::isinf(n))
    return n < 0 ? "-inf" : "inf";
  char digits[400];
  auto text = [&](std::chars_format form) {
    auto end = std::to_chars(digits, digits + sizeof digits, n, form).ptr;
    return std::string{digits, end};
  };
  auto scientific = text(std::chars_format::scientific);
  auto exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent < -4 || exponent >= 16)
    return scientific;
  auto fixed = text(std::chars_format::fixed);
  return fixed.find('.') == fixed.npos ? fixed + ".0" : fixed;
}

template <class Items, class Text>
std::string bracketed(char open, const Items& items, char close, Text text) {
  std::string out(1, open);
  for (const auto& one : items) {
    if (out.size() > 1)
      out += ", ";
    out += text(one);
  }
  return out + close;
}

} // namespace

std::string python_text(const value& v) {
  if (v.is_null())
    return "None";
  if (v.is_bool())
    return v.as_bool() ? "True" : "False";
  if (v.is_int())
    return std::to_string(v.as_int());
  if (v.is_double())
    return python_number(v.as_double());
  if (v.is_string())
    return quoted_text(v.as_string());
  if (v.is_list())
    return bracketed('[', v.items(), ']', python_text);
  if (v.is_map())
    return bracketed('{', v.entries(), '}', [](const auto& e) {
      return quoted_text(e.key()) + ": " + python_text(e.val);
    });
  return quoted_text(to_json(v));
}

} // namespace troupe::server
