// JSON as the rest of the world means it.
#pragma once

#include <troupe/value.hpp>

#include <string_view>

namespace troupe {

/// The value of JSON text that others wrote: an object with a `$` member is a map like any other,
/// never one of troupe's kinds. An integer beyond int64 is a double; of equal keys the last counts.
/// Units:  at most limits::json_size_bytes_max bytes and limits::value_depth_max levels.
/// Errors: invalid_value, with the byte position.
/// Source: troupe.
result<value> read_plain_json(std::string_view text);

} // namespace troupe
