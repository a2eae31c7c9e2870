// The flags of every command that reaches other processes: who it is to them.
#pragma once

#include <troupe/cluster.hpp>

#include <memory>
#include <optional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace troupe::cli {

struct peer_flags {
  std::string certificate, key, authority;
  bool plain = false;

  /// Errors: throws error{invalid_config} for some of the three, but not all.
  std::optional<link_certificates> tls() const;
};

std::shared_ptr<peer_flags> add_peer_flags(CLI::App& command);

/// How long a silent process keeps what it has. Units: seconds on the command line; 0: not given.
struct lease_flags {
  double lease = 0, heartbeat = 0;

  /// The terms that were asked for, over these.
  /// Errors: throws error{invalid_config} for a heartbeat without a lease.
  void take_into(std::chrono::milliseconds& heartbeat_out,
                 std::chrono::milliseconds& lease_out) const;
};

/// `of`: whose terms they are, for the help.
std::shared_ptr<lease_flags> add_lease_flags(CLI::App& command, const std::string& of);

} // namespace troupe::cli
