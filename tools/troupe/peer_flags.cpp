// The flags of every command that reaches other processes.
#include "tools/troupe/peer_flags.hpp"

#include <CLI/CLI.hpp>

namespace troupe::cli {

namespace {

constexpr int heartbeats_unasked = 5; // in a lease

} // namespace

std::optional<link_certificates> peer_flags::tls() const {
  if (certificate.empty() && key.empty() && authority.empty())
    return std::nullopt;
  if (certificate.empty() || key.empty() || authority.empty())
    throw error{errc::invalid_config, "--tls-cert, --tls-key and --tls-ca belong together"};
  return link_certificates{certificate, key, authority};
}

std::shared_ptr<peer_flags> add_peer_flags(CLI::App& command) {
  auto out = std::make_shared<peer_flags>();
  command.add_option("--tls-cert", out->certificate, "This process's certificate")
    ->type_name("FILE");
  command.add_option("--tls-key", out->key, "The key of that certificate")->type_name("FILE");
  command.add_option("--tls-ca", out->authority, "The CA of the cluster (troupe cluster init-ca)")
    ->type_name("FILE");
  command.add_flag("--plain", out->plain,
                   "Links without TLS, on this host only, to try things out");
  return out;
}

void lease_flags::take_into(std::chrono::milliseconds& heartbeat_out,
                            std::chrono::milliseconds& lease_out) const {
  using std::chrono::duration;
  auto milliseconds = [](double seconds) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration<double>{seconds});
  };
  if (lease == 0 && heartbeat != 0)
    throw error{errc::invalid_config, "--heartbeat needs --lease"};
  if (lease == 0)
    return;
  lease_out = milliseconds(lease);
  heartbeat_out = heartbeat != 0 ? milliseconds(heartbeat) : lease_out / heartbeats_unasked;
}

std::shared_ptr<lease_flags> add_lease_flags(CLI::App& command, const std::string& of) {
  auto out = std::make_shared<lease_flags>();
  const auto most = std::chrono::duration<double>{limits::worker_lease_max}.count();
  command.add_option("--lease", out->lease, of)
    ->type_name("SECONDS")
    ->check(CLI::Range(0.001, most));
  command
    .add_option(
      "--heartbeat", out->heartbeat,
      "With --lease: how often both sides report that they are there; without, a fifth of "
      "the lease")
    ->type_name("SECONDS")
    ->check(CLI::Range(0.001, most));
  return out;
}

} // namespace troupe::cli
