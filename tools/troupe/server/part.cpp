// The part of the command line that needs troupe::server.
#include "tools/troupe/parts.hpp"
#include "tools/troupe/server/definitions.hpp"

namespace troupe::cli {

namespace {

constexpr server_part part{.define_serve = define_serve, .define_dev = define_dev};

} // namespace

extern "C" const server_part* troupe_cli_part() {
  return &part;
}

} // namespace troupe::cli
