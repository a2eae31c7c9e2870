// Whose turn it is to look up a host.
#include "http/host_gates.hpp"

#include <troupe/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <array>

namespace troupe {

BOOST_AUTO_TEST_SUITE(http_host_gates)

using gates_time = host_gates::clock::time_point;

// Transfers that are only told apart.
struct crowd {
  std::array<char, 4> places{};
  http_transfer* operator[](std::size_t i) {
    return reinterpret_cast<http_transfer*>(&places.at(i));
  }
};

BOOST_AUTO_TEST_CASE(one_asks_for_a_host_and_the_others_go_when_it_knows) {
  host_gates gates;
  crowd who;
  gates_time now{};
  BOOST_TEST(gates.enter("a", who[0], now));
  BOOST_TEST(!gates.enter("a", who[1], now));
  BOOST_TEST(!gates.enter("a", who[2], now));
  BOOST_TEST(gates.enter("b", who[3], now));          // another host
  BOOST_TEST(gates.opened("a", who[1], now).empty()); // it asked for nothing
  auto go = gates.opened("a", who[0], now);
  BOOST_TEST((go == host_gates::transfers{who[1], who[2]}));
}

BOOST_AUTO_TEST_CASE(a_known_address_lets_all_pass_until_it_is_forgotten) {
  host_gates gates;
  crowd who;
  gates_time now{};
  gates.enter("a", who[0], now);
  gates.opened("a", who[0], now);
  auto later = now + limits::http_lookup_kept;
  BOOST_TEST(gates.enter("a", who[1], later - std::chrono::seconds{6}));
  BOOST_TEST(gates.enter("a", who[2], later - std::chrono::seconds{6}));
  BOOST_TEST(gates.enter("a", who[0], later));  // asks again
  BOOST_TEST(!gates.enter("a", who[3], later)); // and this one waits for it
}

BOOST_AUTO_TEST_CASE(who_leaves_without_an_address_hands_the_question_on) {
  host_gates gates;
  crowd who;
  gates_time now{};
  gates.enter("a", who[0], now);
  gates.enter("a", who[1], now);
  gates.enter("a", who[2], now);
  gates.enter("a", who[3], now);
  BOOST_TEST(!gates.left("a", who[2], now)); // it only waited
  BOOST_TEST(gates.left("a", who[0], now) == who[1]);
  BOOST_TEST(gates.left("a", who[1], now) == who[3]);
  BOOST_TEST(!gates.left("a", who[3], now));
  BOOST_TEST(!gates.left("never seen", who[0], now));
}

BOOST_AUTO_TEST_CASE(hosts_that_nobody_asks_for_any_more_are_forgotten) {
  host_gates gates;
  crowd who;
  gates_time now{};
  std::size_t most = 0;
  for (int i = 0; i < 10'000; ++i, now += std::chrono::seconds{1}) { // each has its minute
    auto host = "host" + std::to_string(i);
    gates.enter(host, who[0], now);
    gates.opened(host, who[0], now);
    gates.left(host, who[0], now);
    most = std::max(most, gates.size());
  }
  BOOST_TEST(most <= 4u * 60u);
  for (int i = 0; i < 1000; ++i) { // never found
    auto host = "lost" + std::to_string(i);
    gates.enter(host, who[0], now);
    gates.left(host, who[0], now);
  }
  BOOST_TEST(gates.size() <= most);
}

BOOST_AUTO_TEST_CASE(a_host_in_use_is_never_forgotten) {
  host_gates gates;
  crowd who;
  gates_time now{};
  gates.enter("a", who[0], now);
  gates.enter("a", who[1], now);
  for (int i = 0; i < 1000; ++i)
    gates.enter("host" + std::to_string(i), who[2], now);
  BOOST_TEST(gates.size() == 1001u);
  BOOST_TEST((gates.opened("a", who[0], now) == host_gates::transfers{who[1]}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
