// versions_seen: checkpoint::versions_seen as bytes, for savers that store it in one column.
#pragma once

#include <troupe/saver.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// Layout: FORMAT.md, "Postgres".
std::string encode_versions_seen(const named<named<version>>& seen);

/// Errors: checkpoint_corrupt.
result<named<named<version>>> decode_versions_seen(std::string_view data);

} // namespace troupe
