// metadata_record: a checkpoint's metadata inside its record. The usual members take only a few
// bytes.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// Appends the short form of a map with a known `source` and a `step`. False, with `out` as it was,
/// for any other value, or when a member can't be encoded.
/// Shape:  FORMAT.md, "Checkpoint".
bool append_short_metadata(const value& metadata, std::string& out);

/// Reads metadata in the short form, or as msgpack.
/// Errors: checkpoint_corrupt.
result<value> read_metadata(std::string_view bytes);

} // namespace troupe
