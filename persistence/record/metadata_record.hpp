// A checkpoint's metadata inside its record: what nearly all have takes some bytes.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// Appends the short form, if there is one: of a map with a known `source` and a `step`. False, and
/// `out` as it was, when there is none, or a member can't be encoded.
/// Shape:  FORMAT.md, "Checkpoint".
bool append_short_metadata(const value& metadata, std::string& out);

/// Metadata in the short form, or as msgpack.
/// Errors: checkpoint_corrupt.
result<value> read_metadata(std::string_view bytes);

} // namespace troupe
