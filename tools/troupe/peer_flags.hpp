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

} // namespace troupe::cli
