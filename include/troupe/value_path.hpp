// The conversion of std::filesystem::path: its text.
#pragma once

#include <troupe/json_schema.hpp>
#include <troupe/value.hpp>

#include <filesystem>
#include <string>

namespace troupe {

/// A path, as its text. A path that came from outside is only text: check it before it is opened.
/// Shape:  a string without null bytes.
/// Errors: throws error{invalid_value} for another kind, and for a text with a null byte.
/// Source: pydantic's of pathlib.Path.
template <> struct value_traits<std::filesystem::path> {
  static value to(const std::filesystem::path& p) { return p.string(); }
  static std::filesystem::path from(const value& v) {
    auto text = v.as_string();
    if (text.find('\0') != text.npos)
      throw error{errc::invalid_value, "read a path: it has a null byte"};
    return std::filesystem::path{std::string{text}};
  }
  static bool fits(const value& v) {
    return v.is_string() && v.as_string().find('\0') == std::string_view::npos;
  }
};

template <> struct json_schema_traits<std::filesystem::path> {
  static value make() { return {{"type", "string"}, {"format", "path"}}; }
};

} // namespace troupe
