// partial_json: JSON text that may end anywhere.
#include "agents/messages/json_text.hpp"

#include <troupe/agents/messages.hpp>
#include <troupe/limits.hpp>

#include <string>

namespace troupe {
namespace {

// JSON that ends too early, and the text that would close it.
struct open_text {
  std::string text;    // without an incomplete escape at its end
  std::string closing; // the closing brackets, innermost first
  bool broken = false; // a closing bracket does not match
};

// Line breaks and tabs within strings are accepted.
void add_in_string(std::string& out, char c) {
  switch (c) {
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default: out += c;
  }
}

open_text scan(std::string_view given) {
  open_text out;
  out.text.reserve(given.size() + 8);
  std::string open;
  bool in_string = false;
  bool escaped = false;
  for (char c : given) {
    if (in_string) {
      if (!escaped && c == '"')
        in_string = false;
      escaped = !escaped && c == '\\';
      add_in_string(out.text, c);
      continue;
    }
    out.text += c;
    if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) {
        out.broken = true;
        return out;
      }
      open.pop_back();
    }
  }
  if (in_string) {
    if (escaped)
      out.text.pop_back();
    out.text += '"';
  }
  out.closing.assign(open.rbegin(), open.rend());
  return out;
}

} // namespace

std::optional<value> parse_partial_json(std::string_view text) {
  if (auto whole = from_json(text, json_form::plain))
    return *whole;
  auto open = scan(text);
  if (open.broken)
    return std::nullopt;
  auto& tried = open.text;
  for (std::size_t dropped = 0; dropped <= limits::partial_json_dropped_max && !tried.empty();
       ++dropped) {
    auto end = tried.size();
    tried += open.closing;
    if (auto v = from_json(tried, json_form::plain))
      return *v;
    tried.resize(end - 1);
  }
  return std::nullopt;
}

} // namespace troupe
