// The part of the command line that needs troupe::postgres.
#include "tools/troupe/parts.hpp"

namespace troupe::cli {

namespace {

constexpr postgres_part part{.open_saver = open_postgres_saver, .open_store = open_postgres_store};

} // namespace

extern "C" const postgres_part* troupe_cli_part() {
  return &part;
}

} // namespace troupe::cli
