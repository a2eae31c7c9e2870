// Orders that a home gives ahead, and asks for when another worker has room.
#include "tests/cluster/dispatcher_bench.hpp"

namespace troupe::cluster {
namespace {

struct with_orders_ahead : dispatcher_bench {
  with_orders_ahead() : dispatcher_bench{{}, limits::worker_ahead_max} {}
  issue_number last_issue_done = 0;
  void submit_many(int count) {
    for (int i = 0; i < count; ++i)
      submit();
  }
  std::vector<issue_number> asked(link_number link) const {
    std::vector<issue_number> out;
    for (const auto& m : all<task_withdraw>(link))
      out.push_back(m.issue);
    return out;
  }
  void keep(link_number link, issue_number issue) { machine.heard(link, task_kept{issue}, now); }
};

using issues = std::vector<issue_number>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(cluster_dispatcher_ahead, with_orders_ahead)

BOOST_AUTO_TEST_CASE(a_full_worker_gets_as_many_orders_again_and_no_more) {
  join(1, "a", 2);
  submit_many(6);
  auto orders = all<task_order>(1);
  BOOST_TEST_REQUIRE(orders.size() == 4u);
  BOOST_TEST(!orders[1].ahead);
  BOOST_TEST(orders[2].ahead);
  BOOST_TEST(orders[3].ahead);
  BOOST_TEST(status().waiting == 2u);
  BOOST_TEST(status().workers.at(0).ahead == 2u);
  outcome(1, orders[0].issue);
  BOOST_TEST(all<task_order>(1).size() == 5u);
  BOOST_TEST(last<task_order>(1).ahead);
}

BOOST_AUTO_TEST_CASE(an_order_is_given_ahead_only_when_nobody_has_room) {
  join(1, "a", 1);
  join(2, "b", 3);
  submit_many(4);
  BOOST_TEST(orders(1) == 1u);
  BOOST_TEST(orders(2) == 3u);
  BOOST_TEST(status().counts.ahead == 0u);
  submit_many(4); // by their capacity
  BOOST_TEST(orders(1) == 2u);
  BOOST_TEST(orders(2) == 6u);
  BOOST_TEST(status().counts.ahead == 4u);
}

BOOST_AUTO_TEST_CASE(a_worker_whose_tasks_are_short_gets_more_orders_ahead_up_to_a_limit) {
  join(1, "a", 2);
  submit_many(100);
  auto ahead_after = [this](std::chrono::microseconds took) {
    for (int i = 0; i < 50; ++i) { // until it is known
      submit_many(1);
      outcome(1, last_issue_done + 1, 9, static_cast<std::uint64_t>(took.count()));
      ++last_issue_done;
    }
    return status().workers.at(0).ahead;
  };
  BOOST_TEST(status().workers.at(0).ahead == 2u);
  BOOST_TEST(ahead_after(limits::worker_ahead_time / 3) == 2u * 3);
  BOOST_TEST(ahead_after(limits::worker_ahead_time / 1000) == 2u * limits::worker_ahead_turns_max);
  BOOST_TEST(ahead_after(limits::worker_ahead_time * 1000) == 2u);
}

BOOST_AUTO_TEST_CASE(no_more_than_the_limit_wait_at_a_worker) {
  join(1, "a", 2 * limits::worker_ahead_max);
  submit_many(4 * limits::worker_ahead_max);
  BOOST_TEST(orders(1) == 3u * limits::worker_ahead_max);
}

BOOST_AUTO_TEST_CASE(the_bytes_that_wait_at_a_worker_are_bounded_too) {
  join(1, "a", 2);
  submit_many(2);
  auto large = limits::worker_ahead_bytes_max / 2 + 1;
  BOOST_TEST_REQUIRE(try_submit({}, 0, large).has_value());
  BOOST_TEST_REQUIRE(try_submit({}, 0, large).has_value());
  BOOST_TEST(orders(1) == 3u);
  outcome(1, 1);
  BOOST_TEST(orders(1) == 3u); // as far as is known, the large one waits
  outcome(1, 2);
  BOOST_TEST(orders(1) == 4u); // there is room
  BOOST_TEST(!last<task_order>(1).ahead);
}

BOOST_AUTO_TEST_CASE(what_waits_at_a_worker_goes_to_one_that_has_room) {
  join(1, "a", 1);
  submit_many(2);
  BOOST_TEST(orders(1) == 2u);
  join(2, "b", 1);
  BOOST_TEST(asked(1) == (issues{2}), boost::test_tools::per_element());
  refuse(1, 2);
  BOOST_TEST_REQUIRE(orders(2) == 1u);
  BOOST_TEST(!last<task_order>(2).ahead);
  BOOST_TEST(status().workers.at(0).allowed == 1u); // it was not full
  BOOST_TEST(status().counts.reissued == 0u);
  outcome(2, last<task_order>(2).issue);
  BOOST_TEST(taken.size() == 1u);
}

BOOST_AUTO_TEST_CASE(as_much_is_asked_for_as_there_is_room_and_the_newest_first) {
  join(1, "a", 4);
  submit_many(8);
  join(2, "b", 2);
  BOOST_TEST(asked(1) == (issues{8, 7}), boost::test_tools::per_element());
  join(3, "c", 1); // what b has asked for may come here as well
  keep(1, 8);
  BOOST_TEST(asked(1) == (issues{8, 7, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_order_that_was_begun_is_asked_for_once) {
  join(1, "a", 2);
  submit_many(3);
  join(2, "b", 1);
  keep(1, 3);
  keep(1, 3);
  wait(2s, {1, 2});
  BOOST_TEST(asked(1) == (issues{3}), boost::test_tools::per_element());
  outcome(1, 3);
  BOOST_TEST(taken.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_was_begun_for_all_that_is_known_is_not_asked_for) {
  join(1, "a", 2);
  submit_many(4);
  outcome(1, 1);
  outcome(1, 2);
  join(2, "b", 2); // the two that were given ahead are what a runs
  BOOST_TEST(asked(1).empty());
}

BOOST_AUTO_TEST_CASE(behind_the_tasks_of_others_it_may_wait_all_the_same) {
  join(1, "a", 2);
  submit_many(4);
  outcome(1, 1);
  outcome(1, 2);
  join(2, "b", 2);
  beat(1, 1);
  BOOST_TEST(asked(1) == (issues{4, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(after_an_answer_somebody_else_may_ask_the_same_worker) {
  join(1, "a", 2, {"left", "right"});
  submit_many(2);
  submit({.label = "left"});
  submit({.label = "right"});
  outcome(1, 1); // it has begun one of the two that waited
  join(2, "b", 1, {"left"});
  join(3, "c", 1, {"right"});
  BOOST_TEST(asked(1) == (issues{3}), boost::test_tools::per_element());
  keep(1, 3);
  BOOST_TEST(asked(1) == (issues{3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_waits_out_of_reach_is_asked_for_when_its_worker_is_back) {
  join(1, "a", 1);
  submit_many(2);
  machine.link_broken(1, now);
  join(2, "b", 1);
  BOOST_TEST(asked(1).empty());
  machine.link_restored(1, now);
  BOOST_TEST(asked(1) == (issues{2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nobody_asks_for_what_the_free_worker_could_not_take) {
  join(1, "a", 1, {"gpu"});
  submit({.label = "gpu"});
  submit({.label = "gpu"});
  join(2, "b", 1);
  BOOST_TEST(asked(1).empty());
  join(3, "c", 1, {"gpu"});
  BOOST_TEST(asked(1).size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_outcome_that_crosses_the_question_counts) {
  join(1, "a", 1);
  submit_many(3);
  join(2, "b", 2);
  BOOST_TEST(asked(1).size() == 1u); // one waits there, the other here
  outcome(1, 1);
  outcome(1, 2);
  BOOST_TEST(taken.size() == 2u);
  keep(1, 2); // heard too late
  BOOST_TEST(status().counts.stale == 1u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_question_leaves_room_for_another) {
  join(1, "a", 2);
  std::vector<task_number> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(submit());
  join(2, "b", 1);
  BOOST_TEST(asked(1) == (issues{4}), boost::test_tools::per_element());
  machine.cancel(all[3]);
  BOOST_TEST(asked(1) == (issues{4, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_full_gets_nothing_ahead_for_a_while) {
  join(1, "a", 2);
  submit_many(6);
  BOOST_TEST(orders(1) == 4u);
  refuse(1, 4);
  BOOST_TEST(orders(1) == 4u);
  outcome(1, 1);
  BOOST_TEST(orders(1) == 4u);
  wait(500ms, {1});
  BOOST_TEST(orders(1) == 6u);
}

BOOST_AUTO_TEST_CASE(what_waits_at_a_lost_worker_goes_elsewhere) {
  join(1, "a", 1);
  submit_many(2);
  join(2, "b", 1);
  BOOST_TEST(asked(1).size() == 1u);
  wait(3s, {2});
  BOOST_TEST(orders(2) == 2u);
  BOOST_TEST(status().counts.reissued == 2u);
}

BOOST_AUTO_TEST_CASE(a_silent_link_is_asked_for_nothing) {
  join(1, "a", 1);
  submit_many(2);
  machine.link_broken(1, now);
  join(2, "b", 1);
  BOOST_TEST(asked(1).empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
