// Orders that wait at a worker for a place.
#include "tests/cluster/admission_bench.hpp"

namespace troupe::cluster {

// The capacity is 2.
BOOST_FIXTURE_TEST_SUITE(cluster_task_admission_ahead, admission_bench)

BOOST_AUTO_TEST_CASE(an_order_waits_while_the_worker_is_full_and_is_begun_when_a_place_is_free) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  order_ahead(1, 4);
  BOOST_TEST(begun.size() == 2u);
  BOOST_TEST(status().waiting == 2u);
  now += 5ms;
  machine.finished(first, {7}, now);
  BOOST_TEST_REQUIRE(begun.size() == 3u);
  BOOST_TEST(begun.rbegin()->second.issue == 3u);
  BOOST_TEST(last<task_outcome>(1).took_us == 5000u);
  now += 2ms;
  machine.finished(begun.rbegin()->first, {7}, now);
  BOOST_TEST(begun.rbegin()->second.issue == 4u);
  BOOST_TEST(last<task_outcome>(1).took_us == 2000u); // from when it was begun
  BOOST_TEST(status().waiting == 0u);
  BOOST_TEST(all<task_refused>(1).empty());
}

BOOST_AUTO_TEST_CASE(an_order_that_waits_keeps_the_step_it_came_with) {
  work_for(0, 1);
  machine.heard(1, step_opened{1, {1}}, now);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  machine.heard(1, step_opened{1, {2}}, now);
  machine.heard(1, step_opened{9, {3}}, now); // of no run
  BOOST_TEST(steps.at(first) == bytes{1}, boost::test_tools::per_element());
  machine.finished(first, {}, now);
  BOOST_TEST(steps.rbegin()->second == bytes{1}, boost::test_tools::per_element());
  machine.finished(begun.rbegin()->first, {}, now);
  begin_one(1, 4);
  BOOST_TEST(steps.rbegin()->second == bytes{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_order_ahead_begins_at_once_where_there_is_a_place) {
  work_for(0, 1);
  order_ahead(1, 1);
  BOOST_TEST(begun.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_order_that_waits_can_be_withdrawn_and_one_that_was_begun_is_kept) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  machine.heard(1, task_withdraw{3}, now);
  machine.heard(1, task_withdraw{2}, now);
  machine.heard(1, task_withdraw{3}, now); // was answered
  machine.heard(1, task_withdraw{9}, now);
  BOOST_TEST(refused(1, 3, errc::overloaded));
  BOOST_TEST(all<task_refused>(1).size() == 1u);
  BOOST_TEST_REQUIRE(all<task_kept>(1).size() == 1u);
  BOOST_TEST(last<task_kept>(1).issue == 2u);
  machine.finished(first, {}, now);
  BOOST_TEST(begun.size() == 2u); // it never begins
  BOOST_TEST(status().counts.given_back == 1u);
}

BOOST_AUTO_TEST_CASE(an_order_that_is_stopped_before_it_begins_never_does) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  machine.heard(1, task_stop{3}, now);
  BOOST_TEST(refused(1, 3, errc::cancelled));
  machine.finished(first, {}, now);
  BOOST_TEST(begun.size() == 2u);
  BOOST_TEST(stopped.empty());
}

BOOST_AUTO_TEST_CASE(what_waits_of_a_closed_run_is_answered) {
  work_for(0, 1);
  begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  machine.heard(1, run_closed{1}, now);
  BOOST_TEST(refused(1, 3, errc::cancelled));
  BOOST_TEST(status().waiting == 0u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_drains_gives_back_what_waits_at_once) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  machine.drain("update", 1h, now);
  BOOST_TEST(refused(1, 3, errc::overloaded));
  machine.finished(first, {}, now);
  BOOST_TEST(begun.size() == 2u);
}

BOOST_AUTO_TEST_CASE(with_its_session_an_order_that_waits_is_gone) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  wait(3s);
  BOOST_TEST(over.size() == 1u);
  BOOST_TEST(status().waiting == 0u);
  machine.gone(first, "stopped", now);
  BOOST_TEST(begun.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_stood_still_begins_nothing_that_waited) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  now += 1min;
  machine.finished(first, {}, now); // before the tick
  BOOST_TEST(begun.size() == 2u);
}

BOOST_AUTO_TEST_CASE(that_the_run_drains_is_said_to_a_task_when_it_begins) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  machine.heard(1, task_drain{3, "update"}, now);
  BOOST_TEST(passed.empty());
  machine.finished(first, {}, now);
  BOOST_TEST_REQUIRE(passed.size() == 1u);
  BOOST_TEST(passed[0].first == begun.rbegin()->first);
  BOOST_TEST(std::get<task_drain>(passed[0].second).why == "update");
}

BOOST_AUTO_TEST_CASE(a_failed_step_is_passed_to_a_task_when_it_begins) {
  work_for(0, 1);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  machine.heard(1, step_failed{3}, now);
  BOOST_TEST(passed.empty());
  machine.heard(1, step_failed{2}, now);
  BOOST_TEST_REQUIRE(passed.size() == 1u);
  machine.finished(first, {}, now);
  BOOST_TEST_REQUIRE(passed.size() == 2u);
  BOOST_TEST(passed[1].first == begun.rbegin()->first);
  BOOST_TEST(std::holds_alternative<step_failed>(passed[1].second));
}

BOOST_AUTO_TEST_CASE(so_many_orders_wait_for_each_place_and_no_more) {
  work_for(0, 1);
  begin_one(1, 1);
  begin_one(1, 2);
  const auto most = 2 * limits::worker_ahead_turns_max;
  for (issue_number i = 0; i <= most; ++i)
    order_ahead(1, 3 + i);
  BOOST_TEST(refused(1, 3 + most, errc::overloaded));
  BOOST_TEST(all<task_refused>(1).size() == 1u);
  BOOST_TEST(status().waiting == most);
}

BOOST_AUTO_TEST_CASE(the_bytes_of_orders_that_wait_are_bounded) {
  work_for(0, 1);
  work_for(1, 2);
  begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3, limits::worker_ahead_bytes_max);
  order_ahead(2, 1, 1);
  BOOST_TEST(refused(2, 1, errc::overloaded));
  machine.heard(1, task_withdraw{3}, now);
  order_ahead(2, 2, 1);
  BOOST_TEST(!refused(2, 2, errc::overloaded));
}

BOOST_AUTO_TEST_CASE(outcomes_may_be_kept_while_orders_wait_or_others_run_and_not_behind_the_last) {
  work_for(0, 1);
  auto sent = now - 10us;
  auto first = begin_one(1, 1);
  auto second = begin_one(1, 2);
  order_ahead(1, 3);
  BOOST_TEST((machine.may_keep_outcomes(now, sent) == now + limits::worker_outcomes_held));
  machine.finished(first, {}, now);
  BOOST_TEST((machine.may_keep_outcomes(now, sent) == sent + limits::worker_outcomes_apart));
  machine.finished(second, {}, now);
  machine.finished(begun.rbegin()->first, {}, now);
  BOOST_TEST((machine.may_keep_outcomes(now, sent) == now));
}

BOOST_AUTO_TEST_CASE(a_free_place_goes_to_the_home_with_the_fewest_tasks) {
  work_for(0, 1);
  work_for(1, 2);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  order_ahead(2, 1);
  machine.finished(first, {}, now);
  BOOST_TEST(status().sessions.at(1).tasks == 1u);
  BOOST_TEST(status().sessions.at(0).waiting == 1u);
}

BOOST_AUTO_TEST_CASE(orders_that_wait_do_not_take_the_place_that_is_kept_for_another_home) {
  work_for(0, 1);
  work_for(1, 2);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order_ahead(1, 3);
  order(2, 1);
  BOOST_TEST(refused(2, 1, errc::overloaded));
  machine.finished(first, {}, now);
  BOOST_TEST(begun.size() == 2u);
  wait(500ms, {1, 2});
  BOOST_TEST(last<heartbeat>(1).foreign == 1u); // so its home knows that it may wait
  wait(limits::worker_backoff_max, {1, 2});     // it did not come back
  BOOST_TEST(begun.size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
