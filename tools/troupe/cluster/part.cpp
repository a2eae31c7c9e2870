// The part of the command line that needs troupe::cluster.
#include "cluster/links/peer_names.hpp"
#include "tools/troupe/cluster/definitions.hpp"
#include "tools/troupe/parts.hpp"

namespace troupe::cli {

namespace {

std::pair<std::string, std::uint16_t> read_address(const std::string& text) {
  auto at = cluster::to_endpoint(text).value();
  return {at.host, at.port};
}

constexpr cluster_part part{.define_worker = define_worker,
                            .define_cluster = define_cluster,
                            .connect_workers = connect_workers,
                            .read_address = read_address};

} // namespace

extern "C" const cluster_part* troupe_cli_part() {
  return &part;
}

} // namespace troupe::cli
