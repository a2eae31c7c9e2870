// Plain JSON: reads JSON from outside, in which `$` members have no special meaning.
#pragma once

#include <troupe/value.hpp>

#include <string_view>

namespace troupe {

/// The value of JSON text from outside. An object with a `$` member is a map like any other, never
/// one of troupe's kinds. An integer beyond int64 is a double. The last one of equal keys counts.
/// Units:  at most limits::json_size_bytes_max bytes and limits::value_depth_max levels.
/// Errors: invalid_value, with the byte position.
/// Source: troupe.
result<value> read_plain_json(std::string_view text);

} // namespace troupe
