// peer_names: the addresses of peers. A name may stand for several addresses, which change. Pure:
// takes the results of lookups, and returns the addresses to keep links to.
//
// Invariants:
//  - A name whose lookup fails keeps its last addresses.
//  - An address is wanted as long as a kept peer has it.
#pragma once

#include "cluster/wire/lease.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::cluster {

/// HOST:PORT, as `[::1]:4242`, `10.0.0.7:4242` or `worker-3:4242`.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;
  friend auto operator<=>(const endpoint&, const endpoint&) = default;
};
/// Reads an address.
/// Errors: invalid_config for a text that is not HOST:PORT.
result<endpoint> to_endpoint(const std::string& text);
std::string to_text(const endpoint& at);
/// Whether a host is written as an address, so that it needs no lookup.
bool is_address(const std::string& host);

/// The result of a lookup.
using looked_up = result<std::vector<std::string>>;

class peer_names {
public:
  void keep(const endpoint& peer);
  void forget(const endpoint& peer);
  /// The kept peers, as keep() got them.
  const std::set<endpoint>& kept() const noexcept { return kept_; }

  /// The names to look up now. Each is then under way, until answered().
  std::vector<std::string> due(instant now);
  /// Takes the result of a lookup. Returns a text for the log; empty when nothing changed.
  std::string answered(const std::string& host, const looked_up& addresses, instant now);

  /// The addresses to keep a link to.
  std::set<endpoint> wanted() const;
  /// The addresses of one peer.
  std::vector<endpoint> addresses_of(const endpoint& peer) const;
  /// The reason why the last lookup of a name failed; empty when it succeeded.
  std::string failure(const std::string& host) const;

private:
  struct name {
    std::vector<std::string> addresses;
    std::string failure;
    instant due{0};
    bool under_way = false;
  };

  std::set<endpoint> kept_;
  std::map<std::string, name> names_; // for the kept peers with a name
};

} // namespace troupe::cluster
