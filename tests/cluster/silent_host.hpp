// A port of this host that listens, and one that is silent.
#pragma once

#include "cluster/links/socket_dialer.hpp"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdint>
#include <vector>

namespace troupe::cluster {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

struct listener {
  owned_descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;

  explicit listener(int backlog) {
    auto at = loopback(0);
    auto* address = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    BOOST_REQUIRE(::bind(socket.fd(), address, size) == 0);
    BOOST_REQUIRE(::listen(socket.fd(), backlog) == 0);
    BOOST_REQUIRE(::getsockname(socket.fd(), address, &size) == 0);
    port = ntohs(at.sin_port);
  }
};

/// A host that does not answer: Linux drops what comes to a port whose queue is full.
struct silent_host : listener {
  std::vector<owned_descriptor> queued;

  silent_host() : listener{0} {
    auto at = loopback(port);
    for (int i = 0; i < 3; ++i) {
      queued.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      static_cast<void>(::connect(queued.back().fd(), reinterpret_cast<sockaddr*>(&at), sizeof at));
    }
  }
  /// It is back: those that wait are let in.
  void wake() {
    queued.clear();
    ::listen(socket.fd(), 100);
    for (int i = 0; i < 2; ++i)
      owned_descriptor{::accept(socket.fd(), nullptr, nullptr)};
  }
};

} // namespace troupe::cluster
