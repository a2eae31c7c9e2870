// The flags of every command that reaches other processes.
#include "tools/troupe/peer_flags.hpp"

#include <CLI/CLI.hpp>

namespace troupe::cli {

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
  command.add_option("--tls-key", out->key, "Its key")->type_name("FILE");
  command.add_option("--tls-ca", out->authority, "The CA of the cluster (troupe cluster init-ca)")
    ->type_name("FILE");
  command.add_flag("--plain", out->plain, "Links without TLS, on this host only: for tries");
  return out;
}

} // namespace troupe::cli
