// json_text: JSON as Python prints it, which is the form that models are used to.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// JSON text with `, ` and `: ` as separators, and characters beyond ASCII unescaped.
/// Shape:  members in key order; extension kinds as to_json prints them.
/// Errors: as to_json.
std::string spaced_json(const value& v);

/// The arguments of a call from a model's text: JSON that may have raw line breaks in its strings.
/// An empty text means {}.
/// Errors: as from_json. The result need not be a map.
result<value> read_arguments(std::string_view text);

/// The text of `v`; empty for a value that is not a text.
std::string text_in(const value& v);

/// A text as a Python literal: 'it', or "it's".
std::string quoted_text(std::string_view text);

/// The number of Unicode characters in a text. Bytes that are not UTF-8 are counted by their first
/// bytes.
std::size_t character_count(std::string_view text) noexcept;

} // namespace troupe
