// mcp_uri_template: URIs with variable parts, in the two simple levels of RFC 6570. Pure.
#pragma once

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <optional>
#include <string_view>

namespace troupe {

/// Errors: invalid_config for braces that do not match, a part without a name, two parts that
///         follow each other directly, and more than 64 parts.
result<void> check_uri_template(std::string_view text);

/// The texts of the variable parts, a map; nullopt when the URI does not fit. A part takes as few
/// characters as possible, at least one.
/// Shape:  `text` was checked.
/// Cost:   parts times the length of the URI.
std::optional<value> match_uri_template(std::string_view text, std::string_view uri);

} // namespace troupe
