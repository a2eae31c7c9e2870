// Which texts of a value are embedded: paths into it, and what they find.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A path's steps, from the outside in: names, `*`, `[…]`, `{…}`.
/// Shape:  empty for "$" and for an empty path: the value itself.
/// Errors: invalid_value: longer than limits::store_index_path_bytes_max, a bracket or brace that
/// is
///         not closed, within `[]` neither `*` nor a number, nothing within `{}`. The reference
///         takes them, and finds nothing.
/// Source: langgraph/store/base/embed.py, tokenize_path.
result<std::vector<std::string>> text_path(std::string_view path);

/// The texts under a path: strings as they are, null as none, all else as JSON.
/// Order:  that of the lists, and of maps' keys.
/// Source: langgraph/store/base/embed.py, get_text_at_path; there a number is Python's text of it.
std::vector<std::string> texts_at(const value& v, const std::vector<std::string>& path);

} // namespace troupe
