// The part of the command line that needs troupe::postgres.
#include "tools/troupe/parts.hpp"
#include "tools/troupe/postgres/postgres_checkpoints.hpp"

namespace troupe::cli {

namespace {

std::function<std::optional<checkpoint_tuple>()> open_checkpoints(const std::string& conninfo) {
  return [from = std::make_shared<postgres_checkpoints>(conninfo)] { return from->next(); };
}

constexpr postgres_part part{.open_saver = open_postgres_saver,
                             .open_store = open_postgres_store,
                             .rotate_keys = rotate_store_keys,
                             .open_checkpoints = open_checkpoints};

} // namespace

extern "C" const postgres_part* troupe_cli_part() {
  return &part;
}

} // namespace troupe::cli
