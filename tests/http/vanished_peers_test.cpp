// Peers that vanish without a word, as a host does that loses its power or network.
#include "http/listener.hpp"
#include "tests/fixtures/raw_client.hpp"

#include <boost/test/unit_test.hpp>

#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <future>

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

constexpr const char* vanishing_request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// A listener whose answers are streams that beat.
struct beating_server {
  explicit beating_server(milliseconds peer_timeout)
    : listener{{.peer_timeout = peer_timeout},
               {.screen = [](const http_asked&) { return std::nullopt; },
                .answer = [this](http_asked, const http_responder& to) { begin(to); }}} {}

  void begin(const http_responder& to) {
    held.emplace(to);
    to.when_gone([this] { gone.set_value(); });
    to.start(200, {}, {.text = "~", .every = milliseconds{10}, .is_steady = true});
  }

  std::optional<http_responder> held;
  std::promise<void> gone;
  http_listener listener;
};

// This process's other end of a client's connection.
int served_end(const raw_client& client) {
  sockaddr_in mine{};
  socklen_t size = sizeof mine;
  ::getsockname(client.descriptor(), reinterpret_cast<sockaddr*>(&mine), &size);
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in peer{};
    size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0
        && peer.sin_family == AF_INET && peer.sin_port == mine.sin_port)
      return fd;
  }
  return -1;
}

int socket_option_of(int socket, int level, int option) {
  int out = -1;
  socklen_t size = sizeof out;
  ::getsockopt(socket, level, option, &out, &size);
  return out;
}

// Switches the loopback device of this process's network on or off.
bool switch_loopback(bool on) {
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = static_cast<short>(on ? IFF_UP | IFF_LOOPBACK | IFF_RUNNING : 0);
  bool is_done = fd >= 0 && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return is_done;
}

enum network_end : int { as_expected = 0, not_noticed = 1, no_namespace = 2 };

// In a process of its own: its network vanishes while a stream is open.
network_end lose_the_network() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !switch_loopback(true))
    return no_namespace;
  beating_server server{milliseconds{1000}};
  raw_client client{server.listener.port()};
  client.say(vanishing_request);
  client.hear("~");
  switch_loopback(false);
  auto noticed = server.gone.get_future().wait_for(std::chrono::seconds{20});
  return noticed == std::future_status::ready ? as_expected : not_noticed;
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_vanished_peers)

BOOST_AUTO_TEST_CASE(a_served_connection_has_the_bounds_of_its_options) {
  beating_server server{milliseconds{12'000}};
  raw_client client{server.listener.port()};
  client.say(vanishing_request);
  client.hear("~");
  int fd = served_end(client);
  BOOST_REQUIRE(fd >= 0);
  BOOST_TEST(socket_option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 12'000);
  BOOST_TEST(socket_option_of(fd, SOL_SOCKET, SO_KEEPALIVE) == 1);
  BOOST_TEST(socket_option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 6);
  BOOST_TEST(socket_option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL) == 2);
  BOOST_TEST(socket_option_of(fd, IPPROTO_TCP, TCP_KEEPCNT) == 3);
}

BOOST_AUTO_TEST_CASE(without_bounds_the_system_decides) {
  beating_server server{milliseconds{0}};
  raw_client client{server.listener.port()};
  client.say(vanishing_request);
  client.hear("~");
  BOOST_TEST(socket_option_of(served_end(client), IPPROTO_TCP, TCP_USER_TIMEOUT) == 0);
}

BOOST_AUTO_TEST_CASE(a_stream_ends_when_its_peer_has_vanished) {
  auto child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    int status = not_noticed;
    try {
      status = lose_the_network();
    } catch (...) {}
    ::_exit(status);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_namespace)
    BOOST_TEST_MESSAGE("skipped: this system gives no network of its own (unshare)");
  else
    BOOST_TEST(WEXITSTATUS(status) == as_expected);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
