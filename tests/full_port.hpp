// A port where connections are never made, for tests of who waits for one.
#pragma once

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

namespace troupe::test {

/// A port of 127.0.0.1 where nobody accepts and no more connections may wait: a new one gets no
/// answer.
class full_port {
public:
  full_port() {
    BOOST_REQUIRE(bind(listener_, plain(), size_) == 0);
    BOOST_REQUIRE(listen(listener_, 0) == 0);
    BOOST_REQUIRE(getsockname(listener_, plain(), &size_) == 0);
    for (auto& one : waiting_) {
      one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      (void)connect(one, plain(), size_);
    }
  }
  ~full_port() {
    for (auto one : waiting_)
      close(one);
    close(listener_);
  }
  full_port(const full_port&) = delete;
  full_port& operator=(const full_port&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }

private:
  sockaddr* plain() { return reinterpret_cast<sockaddr*>(&address_); }

  int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_{.sin_family = AF_INET,
                       .sin_port = 0,
                       .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                       .sin_zero = {}};
  socklen_t size_ = sizeof address_;
  std::array<int, 4> waiting_{};
};

} // namespace troupe::test
