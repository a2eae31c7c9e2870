// Which servers are dead, and what becomes of their runs.
#include "server/rules/lease_rules.hpp"

#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

BOOST_AUTO_TEST_SUITE(server_lease_rules)

BOOST_AUTO_TEST_CASE(a_server_is_dead_when_its_sign_stayed_the_same_for_the_lease) {
  auto look = look_at_servers({}, {{"a", 1}, {"b", 1}}, 100, 10);
  BOOST_TEST(look.dead.empty()); // seen for the first time
  look = look_at_servers(look.seen, {{"a", 2}, {"b", 1}}, 9, 10);
  BOOST_TEST(look.dead.empty());
  look = look_at_servers(look.seen, {{"a", 2}, {"b", 1}}, 1, 10);
  BOOST_REQUIRE(look.dead.size() == 1u);
  BOOST_TEST(look.dead[0].server_id == "b");
  BOOST_TEST(look.dead[0].revision == 1u);
  look = look_at_servers(look.seen, {{"a", 3}, {"b", 2}}, 8, 10);
  BOOST_TEST(look.dead.empty()); // it came back in time
}

BOOST_AUTO_TEST_CASE(an_observer_that_was_held_up_does_not_count_that_time) {
  using micros = std::chrono::microseconds;
  constexpr auto renewal = micros{limits::server_lease_renewal}.count();
  BOOST_TEST(counted_silence(renewal) == renewal);
  BOOST_TEST(counted_silence(2 * renewal) == 2 * renewal);
  BOOST_TEST(counted_silence(100 * renewal) == 2 * renewal);
  BOOST_TEST(counted_silence(100 * renewal) < micros{limits::server_lease}.count());
}

BOOST_AUTO_TEST_CASE(a_server_that_left_is_gone_once) {
  auto look = look_at_servers({}, {{"a", 1}}, 1, 10);
  BOOST_TEST(!look.is_one_gone);
  look = look_at_servers(look.seen, {}, 1, 10);
  BOOST_TEST(look.is_one_gone);
  look = look_at_servers(look.seen, {}, 1, 10);
  BOOST_TEST(!look.is_one_gone);
}

BOOST_AUTO_TEST_CASE(a_claim_is_of_one_owner_and_one_attempt) {
  run_record mine{.owner = "a", .attempt = 2};
  BOOST_TEST(is_same_claim(mine, mine));
  BOOST_TEST(!is_same_claim(mine, {.owner = "b", .attempt = 2}));
  BOOST_TEST(!is_same_claim(mine, {.owner = "a", .attempt = 3}));
  BOOST_TEST(!is_same_claim(mine, {.owner = "a", .attempt = 2, .left = 1}));
}

BOOST_AUTO_TEST_CASE(a_run_without_a_server_waits_again_until_it_began_too_often) {
  thread_record thread{.status = thread_status::busy, .inflight = {"r"}, .running = "r"};
  run_record run{.run_id = "r", .status = run_status::running, .owner = "a", .attempt = 1};
  release_run(thread, run, 2);
  BOOST_TEST((run.status == run_status::pending));
  BOOST_TEST(run.owner.empty());
  BOOST_TEST(thread.running.empty());
  BOOST_TEST(thread.inflight.size() == 1u);
  run.attempt = 2;
  release_run(thread, run, 2);
  BOOST_TEST((run.status == run_status::error));
  BOOST_TEST(run.error["error"] == value("RunGivenUp"));
  BOOST_TEST(thread.inflight.empty());
  BOOST_TEST((thread.status == thread_status::error));
}

BOOST_AUTO_TEST_CASE(numbers_of_events_continue_and_leave_room_for_an_owner_that_may_live) {
  BOOST_TEST(first_event_of(0, false) == 1u);
  BOOST_TEST(first_event_of(7, false) == 8u);
  BOOST_TEST(first_event_of(7, true) == 8u + limits::server_run_events_gap);
}

BOOST_AUTO_TEST_CASE(a_look_at_all_runs_and_a_takeover_are_within_their_times) {
  using std::chrono::milliseconds;
  BOOST_TEST(limits::server_runs_look % limits::server_lease_renewal == milliseconds{0});
  BOOST_TEST(limits::server_lease + 2 * limits::server_lease_renewal < milliseconds{5000});
  BOOST_TEST(limits::server_lease > 2 * limits::server_lease_renewal);
  // A server that waits for a frozen one shows that it lives before others miss it.
  BOOST_TEST(limits::server_idle_in_transaction + limits::server_lease_renewal
             <= limits::server_lease);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
