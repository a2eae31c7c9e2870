// Turns of those who change a thread.
#include "server/runs/thread_turns.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>
#include <vector>

namespace troupe::server::test {

BOOST_AUTO_TEST_SUITE(server_thread_turns)

BOOST_AUTO_TEST_CASE(changes_of_a_thread_come_one_after_the_other) {
  thread_turns turns;
  int made = 0; // without turns, a data race that loses some
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n)
        turns.change("t", [&] { ++made; });
    });
  all.clear();
  BOOST_TEST(made == 40'000);
}

BOOST_AUTO_TEST_CASE(other_threads_do_not_wait) {
  thread_turns turns;
  bool made = false;
  turns.change("t", [&] { std::jthread{[&] { turns.change("u", [&] { made = true; }); }}.join(); });
  BOOST_TEST(made);
}

BOOST_AUTO_TEST_CASE(a_turn_ends_with_a_change_that_fails) {
  thread_turns turns;
  int tries = 0;
  auto refused = [&] {
    ++tries;
    throw error{errc::conflict, "another one came first"};
  };
  BOOST_CHECK_THROW(turns.change("t", refused), error);
  BOOST_TEST(tries == commit_tries_max);
  BOOST_TEST(turns.change("t", [] { return 3; }) == 3);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
