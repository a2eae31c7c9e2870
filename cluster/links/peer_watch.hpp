// peer_watch: asks processes of a cluster for their status, all at once, over links that stay.
#pragma once

#include "cluster/wire/protocol.hpp"

#include <troupe/cluster.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe::cluster {

struct peer_answer {
  std::string at; // an address, or a name that could not be looked up
  result<value> status;
  bool refused = false; // nothing listens there
};

class peer_watch {
public:
  /// Begins to link to HOST:PORT of each peer. A name stands for all of its addresses.
  /// Errors: as peer_status(), except worker_lost.
  static result<std::unique_ptr<peer_watch>> open(const std::vector<std::string>& peers,
                                                  const peer_access& access);
  peer_watch() = default;
  peer_watch(const peer_watch&) = delete;
  peer_watch& operator=(const peer_watch&) = delete;
  virtual ~peer_watch() = default;

  /// Asks all peers for their status.
  /// Order:  by peer, then by address.
  /// Blocks: until all have answered, or `patience`.
  /// Errors: (of an answer) worker_lost, with the reason why the link is missing, if it is known.
  virtual std::vector<peer_answer> ask(std::chrono::milliseconds patience) = 0;

  /// Drains a worker. Returns its status from right before the drain. The worker is the only peer,
  /// or the one that `order.worker` names: a peer, or a worker of a home that is a peer.
  /// Blocks: until it has answered, or `patience` for each of two questions. Does not wait for the
  ///         end of the drain.
  /// Errors: worker_lost. invalid_config when there are several peers and no name, or when the peer
  ///         is a home; then no worker drains.
  virtual result<value> drain(drain_request order, std::chrono::milliseconds patience) = 0;
};

} // namespace troupe::cluster
