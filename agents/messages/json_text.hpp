// JSON as Python prints it, which is how models are used to see it.
#pragma once

#include <troupe/plain_json.hpp>
#include <troupe/value.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// JSON text with `, ` and `: ` between, characters beyond ASCII as they are.
/// Shape:  members in key order; extension kinds as to_json prints them.
/// Errors: as to_json.
std::string spaced_json(const value& v);

/// The arguments of a call out of a model's text: JSON in which raw line breaks in texts are let
/// pass; nothing stands for {}.
/// Errors: as read_plain_json. What it gives need not be a map.
result<value> read_arguments(std::string_view text);

/// A text, or what is none: nothing.
std::string text_in(const value& v);

/// A text as a Python literal: 'it', or "it's".
std::string quoted_text(std::string_view text);

/// Characters of Unicode in a text. What is no UTF-8 counts by its first bytes.
std::size_t character_count(std::string_view text) noexcept;

} // namespace troupe
