// Which addresses peers are to be reached at, of names that mean several of them and change. Pure:
// it is told what a name came to, and says whom to keep a link to.
//
// Invariants:
//  - A name that can't be looked up any more means what it meant before.
//  - An address is wanted as long as anything means it.
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
/// Errors: invalid_config.
result<endpoint> to_endpoint(const std::string& text);
std::string to_text(const endpoint& at);
/// Whether it is written as an address: there is nothing to look up.
bool is_address(const std::string& host);

/// What a name came to.
using looked_up = result<std::vector<std::string>>;

class peer_names {
public:
  void keep(const endpoint& peer);
  void forget(const endpoint& peer);
  /// As it was asked for.
  const std::set<endpoint>& kept() const noexcept { return kept_; }

  /// The names to look up now. Each is under way then, until answered().
  std::vector<std::string> due(instant now);
  /// Gives what the log should say; empty when it is no news.
  std::string answered(const std::string& host, const looked_up& addresses, instant now);

  /// The addresses to keep a link to.
  std::set<endpoint> wanted() const;
  /// Those of one peer.
  std::vector<endpoint> addresses_of(const endpoint& peer) const;
  /// Why a name could not be looked up last; empty when it could.
  std::string failure(const std::string& host) const;

private:
  struct name {
    std::vector<std::string> addresses;
    std::string failure;
    instant due{0};
    bool under_way = false;
  };

  std::set<endpoint> kept_;
  std::map<std::string, name> names_; // of what is kept
};

} // namespace troupe::cluster
