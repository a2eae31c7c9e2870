// Leases: who is over first, what a late tick means, and which terms are refused.
#include "cluster/wire/lease.hpp"
#include "cluster/wire/status.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::cluster {
namespace {

using namespace std::chrono_literals;

const lease_terms terms; // 500 ms, 2.5 s

/// A worker whose heartbeats its home answers after `trip`, until the end.
void answer_until(held_lease& lease, instant end, nanoseconds trip) {
  std::uint64_t number = 0;
  for (instant at = 1s; at + trip <= end; at += terms.heartbeat) {
    auto beat = lease.next_heartbeat(at, 0);
    lease.heard({.number = ++number, .answers = beat.number}, at + trip);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_lease)

BOOST_AUTO_TEST_CASE(the_workers_lease_is_over_before_the_homes) {
  BOOST_TEST((own_lease(terms) + tick_interval(terms) < terms.lease));
  lease_terms shortest{.heartbeat = 10ms, .lease = 10ms * limits::lease_heartbeats_min};
  BOOST_TEST((own_lease(shortest) + tick_interval(shortest) < shortest.lease));
}

BOOST_AUTO_TEST_CASE(a_lease_counts_from_when_the_answered_heartbeat_was_sent) {
  held_lease lease{terms, 1s};
  auto first = lease.next_heartbeat(1s, 0);
  lease.heard({.number = 1, .answers = first.number}, 2900ms); // a late answer renews little
  BOOST_TEST(!lease.over(2999ms));
  BOOST_TEST(lease.over(3s));
}

BOOST_AUTO_TEST_CASE(a_home_that_hears_nothing_renews_nothing_though_it_is_heard) {
  held_lease lease{terms, 1s};
  answer_until(lease, 3s, 0ms);
  for (instant at = 3s; at < 6s; at += 500ms) // it continues to talk
    lease.heard({.number = 100 + static_cast<std::uint64_t>(at / 500ms), .answers = 2}, at);
  BOOST_TEST(lease.over(3s + own_lease(terms)));
}

BOOST_AUTO_TEST_CASE(a_slow_network_does_not_end_a_lease) {
  held_lease lease{terms, 1s};
  answer_until(lease, 60s, 600ms);
  BOOST_TEST(!lease.over(60s));
  BOOST_TEST((lease.times().smoothed() == 600ms));
}

BOOST_AUTO_TEST_CASE(answers_to_heartbeats_that_were_never_sent_are_ignored) {
  held_lease lease{terms, 1s};
  lease.next_heartbeat(1s, 0);
  for (std::uint64_t number : {0ull, 2ull, 1000ull, ~0ull})
    lease.heard({.number = 1, .answers = number}, 2s);
  BOOST_TEST(lease.times().count() == 0u);
  BOOST_TEST(lease.over(3s));
}

BOOST_AUTO_TEST_CASE(a_lease_that_a_body_found_over_is_never_renewed) {
  held_lease lease{terms, 1s};
  auto end = lease.end();
  auto beat = lease.next_heartbeat(1s, 0);
  lease.heard({.number = 1, .answers = beat.number}, 1100ms);
  beat = lease.next_heartbeat(2s, 0);
  BOOST_TEST(!end->is_over(2900ms));
  lease.heard({.number = 2, .answers = beat.number}, 2900ms); // a short while before it was over
  BOOST_TEST(!end->is_over(3900ms));
  beat = lease.next_heartbeat(3900ms, 0);
  BOOST_TEST(end->is_over(4s)); // on a thread that looked first
  lease.heard({.number = 3, .answers = beat.number}, 3999ms);
  BOOST_TEST(lease.over(3999ms));
  BOOST_TEST(end->is_over(1s));
}

BOOST_AUTO_TEST_CASE(after_a_slow_answer_the_next_heartbeat_leaves_at_once) {
  held_lease lease{{}, 0s};
  auto first = lease.next_heartbeat(0s, 0);
  auto second = lease.next_heartbeat(500ms, 0);
  BOOST_TEST(!lease.heard({.number = 1, .answers = first.number}, 700ms)); // one has just left
  BOOST_TEST(lease.heard({.number = 2, .answers = second.number}, 1'100ms));
  auto third = lease.next_heartbeat(1'100ms, 0);
  BOOST_TEST(!lease.heard({.number = 3, .answers = third.number}, 1'200ms));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_is_due_once_an_interval) {
  held_lease lease{terms, 1s};
  BOOST_TEST(lease.heartbeat_due(1s));
  lease.next_heartbeat(1s, 0);
  BOOST_TEST(!lease.heartbeat_due(1499ms));
  BOOST_TEST(lease.heartbeat_due(1500ms));
}

BOOST_AUTO_TEST_CASE(the_time_a_heartbeat_lay_at_the_other_side_is_no_round_trip) {
  heartbeat_log home, worker;
  auto asked = home.next(0ms, 0);
  worker.heard(asked, 20ms);
  auto answer = worker.next(420ms, 3); // when it is due
  BOOST_TEST((answer.held == 400ms));
  home.heard(answer, 450ms);
  BOOST_TEST((home.times().last() == 50ms));
}

BOOST_AUTO_TEST_CASE(a_time_held_that_cant_be_is_not_believed) {
  heartbeat_log home;
  for (auto held :
       {-1us, std::chrono::microseconds::max(), std::chrono::microseconds::min(), 31ms + 0us}) {
    auto sent = home.next(0ms, 0);
    home.heard({.number = sent.number, .answers = sent.number, .held = held}, 30ms);
  }
  BOOST_TEST(home.times().count() == 0u);
}

BOOST_AUTO_TEST_CASE(time_in_which_the_process_stood_still_does_not_count) {
  waking_time time{terms, 100s};
  for (instant at = 100s; at <= 102s; at += 250ms)
    time.tick(at);
  BOOST_TEST((time.at(102s) == 2s));
  BOOST_TEST(time.may_judge());
  time.tick(162s); // frozen for a minute
  BOOST_TEST((time.at(162s) < 3s));
  BOOST_TEST(!time.may_judge());
  time.tick(162250ms);
  BOOST_TEST(!time.may_judge());
  time.tick(162500ms);
  BOOST_TEST(time.may_judge());
  BOOST_TEST(time.late_ticks() == 1u);
}

BOOST_AUTO_TEST_CASE(a_process_that_is_always_late_still_judges) {
  waking_time time{terms, 0s};
  time.tick(1s);
  BOOST_TEST(!time.may_judge());
  time.tick(2s);
  BOOST_TEST(time.may_judge());
  time.tick(3s);
  BOOST_TEST(time.may_judge());
}

BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_changes_nothing) {
  waking_time time{terms, 10s};
  time.tick(10s + 250ms);
  auto before = time.at(10s + 250ms);
  time.tick(5s);
  BOOST_TEST((time.at(5s) == before));
}

BOOST_AUTO_TEST_CASE(terms_are_refused_past_their_limits) {
  auto code = [](nanoseconds heartbeat, nanoseconds lease) {
    auto how = check_terms({.heartbeat = heartbeat, .lease = lease});
    return how ? errc::ok : how.error().code();
  };
  nanoseconds least = limits::heartbeat_interval_min, most = limits::worker_lease_max;
  BOOST_TEST((code(terms.heartbeat, terms.lease) == errc::ok));
  BOOST_TEST((code(least, 5 * least) == errc::ok));
  BOOST_TEST((code(least - 1ns, 5 * least) == errc::invalid_config));
  BOOST_TEST((code(-1s, 5s) == errc::invalid_config));
  BOOST_TEST((code(most / 10, most) == errc::ok));
  BOOST_TEST((code(most / 10, most + 1ns) == errc::invalid_config));
  BOOST_TEST((code(100ms, 100ms * limits::lease_heartbeats_min) == errc::ok));
  BOOST_TEST((code(100ms, 100ms * limits::lease_heartbeats_min - 1ns) == errc::invalid_config));
  BOOST_TEST((code(100ms, 100ms * limits::lease_heartbeats_max) == errc::ok));
  BOOST_TEST((code(100ms, 100ms * (limits::lease_heartbeats_max + 1)) == errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(latencies_give_upper_bounds_of_quantiles) {
  latencies seen;
  BOOST_TEST((seen.quantile(0.5) == 0ns));
  for (int i = 1; i <= 100; ++i)
    seen.note(i * 1ms);
  seen.note(-1s); // no time at all
  BOOST_TEST(seen.count() == 101u);
  BOOST_TEST((seen.most() == 100ms));
  BOOST_TEST((seen.quantile(0.5) >= 50ms));
  BOOST_TEST((seen.quantile(0.5) <= 100ms));
  BOOST_TEST((seen.quantile(1) == 100ms));
}

BOOST_AUTO_TEST_CASE(texts_of_others_are_bounded_and_have_no_control_characters) {
  BOOST_TEST(readable("a\nb\x1b[1m") == "a?b?[1m");
  BOOST_TEST(readable(std::string(100'000, 'x')).size() < 400u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
