// Names are looked up on threads of their own: a server of names that is silent makes its askers
// wait for half a minute.
#pragma once

#include "cluster/links/peer_names.hpp"

#include <functional>
#include <memory>

namespace troupe::cluster {

/// The addresses of a name, as the system knows them: those of IPv4, or, where there is none, those
/// of IPv6. A host that has both kinds is one peer.
/// Blocks: while servers of names are asked.
/// Errors: worker_lost.
looked_up system_addresses(const std::string& host);

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
  /// Does not wait for what is under way.
  ~name_lookup();

  /// At most limits::peer_lookups_max are asked for at a time; more wait.
  void ask(std::string host);
  /// Those that came since the last call.
  std::vector<answer> answers();

private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

} // namespace troupe::cluster
