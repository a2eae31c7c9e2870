// store_text: the texts of a value that are embedded: paths into the value, and the texts under
// them.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A path's steps, from the outside in: names, `*`, `[…]`, `{…}`.
/// Shape:  empty for "$" and for an empty path: the value itself.
/// Errors: invalid_value: longer than limits::store_index_path_bytes_max, an unclosed bracket or
///         brace, within `[]` neither `*` nor a number, nothing within `{}`. The reference accepts
///         such paths, and finds nothing.
/// Source: langgraph/store/base/embed.py, tokenize_path.
result<std::vector<std::string>> text_path(std::string_view path);

/// The texts under a path: strings unchanged, null as no text, everything else as JSON.
/// Order:  that of the lists, and of maps' keys.
/// Source: langgraph/store/base/embed.py, get_text_at_path; there a number becomes Python's text of
///         it.
std::vector<std::string> texts_at(const value& v, const std::vector<std::string>& path);

} // namespace troupe
