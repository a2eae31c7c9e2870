// Asks processes of a cluster how they are, all at once and over links that stay.
#pragma once

#include "cluster/wire/messages.hpp"

#include <troupe/cluster.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe::cluster {

struct peer_answer {
  std::string at; // an address, or a name that could not be looked up
  result<value> status;
  bool refused = false; // nothing listens there: its process is not there, or listens no more
};

class peer_watch {
public:
  /// Begins to link to HOST:PORT of each; a name is each of its addresses.
  /// Errors: as peer_status(), but for worker_lost.
  static result<std::unique_ptr<peer_watch>> open(const std::vector<std::string>& peers,
                                                  const peer_access& access);
  peer_watch() = default;
  peer_watch(const peer_watch&) = delete;
  peer_watch& operator=(const peer_watch&) = delete;
  virtual ~peer_watch() = default;

  /// Order:  of the peers, and of the addresses of each.
  /// Blocks: until all have answered, or `patience`.
  /// Errors: of an answer: worker_lost, and why there is no link, if that is known.
  virtual std::vector<peer_answer> ask(std::chrono::milliseconds patience) = 0;

  /// Has a worker drain, and gives its status from right before: the one peer; or the one that
  /// `order.worker` names, which is a peer or works for a home that is one.
  /// Blocks: until it has answered, or `patience` for each of two questions; not until it has
  ///         drained.
  /// Errors: worker_lost; invalid_config when there are several peers and no name, or the peer is a
  ///         home; none was told then.
  virtual result<value> drain(drain_request order, std::chrono::milliseconds patience) = 0;
};

} // namespace troupe::cluster
