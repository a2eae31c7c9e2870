// Connects to peers without waiting for any of them: one thread for all.
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

class socket_dialer {
public:
  struct terms {
    std::chrono::milliseconds patience = limits::link_dial_timeout;
    std::chrono::milliseconds again = limits::link_knock_interval;
  };
  /// Told once, on the dialer's thread. A socket does not block.
  using then_fn = std::function<void(result<std::shared_ptr<owned_descriptor>>)>;

  explicit socket_dialer(terms how);
  socket_dialer(const socket_dialer&) = delete;
  socket_dialer& operator=(const socket_dialer&) = delete;
  /// What is under way is given up; nobody is told.
  ~socket_dialer();

  /// Connects to a port. A host that says nothing is knocked at again each `again`, since what the
  /// network drops comes again only after seconds; it delays nobody else.
  /// Errors: invalid_config for what is no address (names are not looked up here); worker_lost when
  ///         the port is closed, the host can't be reached, or `patience` is over.
  void dial(const std::string& address, std::uint16_t port, then_fn then);

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

} // namespace troupe::cluster
