// link_network: the way to the network that homes and workers share.
#pragma once

#include "cluster/links/link_hub.hpp"

#include <troupe/cluster.hpp>
#include <troupe/value.hpp>

#include <caf/actor_system.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cluster {

/// An actor system for links, apart from the runtime's. So messages from outside have their own
/// threads.
struct link_network {
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> system; // destroyed before its config
};

/// Makes the system. Exactly one of `tls` and `plain` is expected.
/// Blocks: while the TLS files are checked.
/// Errors: invalid_config.
result<link_network> make_link_network(const std::optional<link_certificates>& tls, bool plain);

/// Makes `door` reachable at HOST:PORT. Returns the port.
/// Errors: invalid_config.
result<std::uint16_t> listen_on(link_network& network, const caf::actor& door,
                                const std::string& at);

/// Checks that links to these peers are allowed.
/// Errors: invalid_config for plain links to another host.
result<void> may_reach(const link_network& network, const std::vector<endpoint>& peers);

/// Reads addresses, in their order.
/// Errors: invalid_config for a text that is not HOST:PORT.
result<std::vector<endpoint>> to_endpoints(const std::vector<std::string>& texts);

/// A graph's name, hash, build and version, as homes and workers compare them.
/// Cost:   as large as the graph.
graph_offer offer_of(const graph_plan& plan);

/// The answer to a status_request: the status, and the remaining days of the certificate in use.
status_reply reply_with(const caf::actor_system& system, const value& status);

/// A random id, which is new each time a process starts.
std::string new_incarnation();

} // namespace troupe::cluster
