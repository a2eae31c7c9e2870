// socket_dialer: connects to peers on one thread, without waiting for any of them.
#pragma once

#include "persistence/crypt/private_file.hpp"

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe::cluster {

/// Opens TCP connections.
class socket_dialer {
public:
  struct terms {
    std::chrono::milliseconds patience = limits::link_dial_timeout;
    std::chrono::milliseconds again = limits::link_knock_interval;
  };
  /// Called once, on the dialer's thread. The socket does not block.
  using then_fn = std::function<void(result<std::shared_ptr<owned_descriptor>>)>;

  explicit socket_dialer(terms how);
  socket_dialer(const socket_dialer&) = delete;
  socket_dialer& operator=(const socket_dialer&) = delete;
  /// Gives up all open dials, without an answer.
  ~socket_dialer();

  /// Connects to a port. While a host is silent, another attempt begins each `again`, since the
  /// network repeats a lost packet only after seconds. Does not delay other dials.
  /// Errors: - invalid_config for a text that is not an address; names are not looked up here
  ///         - worker_lost when the port is closed, the host can't be reached, or `patience` is
  ///         over
  void dial(const std::string& address, std::uint16_t port, then_fn then);

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

} // namespace troupe::cluster
