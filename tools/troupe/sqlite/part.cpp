// The part of the command line that needs SQLite.
#include "tools/troupe/parts.hpp"
#include "tools/troupe/sqlite/sqlite_checkpoints.hpp"
#include "tools/troupe/sqlite/sqlite_export.hpp"

#include <filesystem>

namespace troupe::cli {

namespace {

std::function<std::optional<checkpoint_tuple>()>
open_checkpoints(const std::filesystem::path& file) {
  return [from = std::make_shared<sqlite_checkpoints>(file)] { return from->next(); };
}

constexpr sqlite_part part{.open_checkpoints = open_checkpoints,
                           .write_checkpoints = write_sqlite_checkpoints};

} // namespace

extern "C" const sqlite_part* troupe_cli_part() {
  return &part;
}

} // namespace troupe::cli
