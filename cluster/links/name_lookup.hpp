// name_lookup: looks up names on threads of its own, since a silent name server blocks a lookup for
// half a minute.
#pragma once

#include "cluster/links/peer_names.hpp"

#include <functional>
#include <memory>

namespace troupe::cluster {

/// The addresses of a name, from the system's resolver: those of IPv4, or those of IPv6 when the
/// name has no IPv4 address. So a host with both kinds is one peer.
/// Blocks: while name servers are asked.
/// Errors: worker_lost.
looked_up system_addresses(const std::string& host);

/// Lookups in the background.
class name_lookup {
public:
  using resolver = std::function<looked_up(const std::string&)>;
  struct answer {
    std::string host;
    looked_up addresses;
  };

  explicit name_lookup(resolver how);
  name_lookup(const name_lookup&) = delete;
  name_lookup& operator=(const name_lookup&) = delete;
  /// Does not wait for running lookups.
  ~name_lookup();

  /// Orders a lookup. At most limits::peer_lookups_max run at a time; more wait.
  void ask(std::string host);
  /// The answers that came since the last call.
  std::vector<answer> answers();

private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

} // namespace troupe::cluster
