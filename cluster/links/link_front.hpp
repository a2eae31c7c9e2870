// What a home and a worker have in common on their way to the network.
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

/// An actor system for links, apart from the runtime's: what comes from outside has its own
/// threads.
struct link_front {
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> system; // gone before its config
};

/// Blocks: while the TLS files are checked.
/// Errors: invalid_config.
result<link_front> make_front(const std::optional<link_certificates>& tls, bool plain);

/// Makes an actor what others reach at HOST:PORT; gives the port.
/// Errors: invalid_config.
result<std::uint16_t> open_front(link_front& front, const caf::actor& door, const std::string& at);

/// Whether links to these peers can be made at all.
/// Errors: invalid_config for plain links to another host.
result<void> may_reach(const link_front& front, const std::vector<endpoint>& peers);

/// Errors: invalid_config for one that is none.
result<std::vector<endpoint>> to_endpoints(const std::vector<std::string>& texts);

/// A graph as homes and workers compare it.
/// Cost:   as large as the graph.
graph_offer offer_of(const graph_plan& plan);

/// What answers a status_request: the status, and the days that the certificate in use has left.
status_reply reply_with(const caf::actor_system& system, const value& status);

/// Random, and so another one each time a process starts.
std::string new_incarnation();

} // namespace troupe::cluster
