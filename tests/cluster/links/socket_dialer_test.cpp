// Sockets of this host: one that listens, one that is closed, and one that drops what comes.
#include "tests/cluster/silent_host.hpp"

#include <boost/test/unit_test.hpp>

#include <future>
#include <mutex>

namespace troupe::cluster {

namespace {

using namespace std::chrono_literals;
using made = result<std::shared_ptr<owned_descriptor>>;

constexpr auto patience = 60s;

struct answer {
  std::promise<made> told;
  socket_dialer::then_fn fn() {
    return [this](made m) { told.set_value(std::move(m)); };
  }
  made get() {
    auto came = told.get_future();
    BOOST_REQUIRE((came.wait_for(patience) == std::future_status::ready));
    return came.get();
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_socket_dialer)

BOOST_AUTO_TEST_CASE(a_port_that_listens_is_reached) {
  listener there{8};
  answer what;
  socket_dialer dialer{{}};
  dialer.dial("127.0.0.1", there.port, what.fn());
  auto socket = what.get();
  BOOST_REQUIRE(socket);
  BOOST_TEST((*socket)->fd() >= 0);
}

BOOST_AUTO_TEST_CASE(hosts_that_say_nothing_delay_nobody) {
  silent_host silent;
  listener there{8};
  std::mutex mutex;
  int given_up = 0;
  answer what;
  socket_dialer dialer{{.patience = patience * 2}};
  for (int i = 0; i < 50; ++i)
    dialer.dial("127.0.0.1", silent.port, [&](const made&) {
      std::lock_guard lock{mutex};
      ++given_up;
    });
  dialer.dial("127.0.0.1", there.port, what.fn());
  BOOST_TEST(bool(what.get()));
  std::lock_guard lock{mutex};
  BOOST_TEST(given_up == 0);
}

BOOST_AUTO_TEST_CASE(a_host_that_comes_back_is_reached_by_the_next_knock) {
  silent_host silent;
  answer what;
  socket_dialer dialer{{.patience = patience, .again = 10ms}};
  auto begin = std::chrono::steady_clock::now();
  dialer.dial("127.0.0.1", silent.port, what.fn());
  silent.wake();
  BOOST_TEST(bool(what.get()));
  // The system itself sends again after a second.
  BOOST_WARN((std::chrono::steady_clock::now() - begin < 900ms));
}

BOOST_AUTO_TEST_CASE(a_host_that_stays_silent_is_given_up) {
  silent_host silent;
  answer what;
  socket_dialer dialer{{.patience = 20ms, .again = 5ms}};
  dialer.dial("127.0.0.1", silent.port, what.fn());
  auto socket = what.get();
  BOOST_REQUIRE(!socket);
  BOOST_TEST((socket.error().code() == errc::worker_lost));
  BOOST_TEST(socket.error().message() == "the peer does not answer");
}

BOOST_AUTO_TEST_CASE(a_port_that_is_closed_and_a_name_are_said_at_once) {
  answer closed, name;
  socket_dialer dialer{{.patience = patience * 2}};
  dialer.dial("127.0.0.1", 1, closed.fn());
  BOOST_TEST(closed.get().error().message() == "Connection refused");
  dialer.dial("localhost", 1, name.fn());
  BOOST_TEST((name.get().error().code() == errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(an_end_does_not_wait_for_those_who_say_nothing) {
  silent_host silent;
  socket_dialer dialer{{.patience = 1h}};
  dialer.dial("127.0.0.1", silent.port, [](const made&) { BOOST_ERROR("nobody is told"); });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
