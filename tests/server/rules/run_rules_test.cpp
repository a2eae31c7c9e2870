// The effect of a new run on others, the ends of runs and threads, and whose turn it is.
#include "server/rules/run_rules.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

BOOST_AUTO_TEST_SUITE(server_run_rules)

BOOST_AUTO_TEST_CASE(a_new_run_does_to_others_what_its_strategy_says) {
  for (auto strategy : {double_texting::reject, double_texting::enqueue, double_texting::interrupt,
                        double_texting::rollback}) {
    auto alone = on_arrival(strategy, false);
    BOOST_TEST(!alone.is_refused);
    BOOST_TEST((alone.others == cancel_action::none));
  }
  BOOST_TEST(on_arrival(double_texting::reject, true).is_refused);
  BOOST_TEST((on_arrival(double_texting::enqueue, true).others == cancel_action::none));
  BOOST_TEST((on_arrival(double_texting::interrupt, true).others == cancel_action::interrupt));
  BOOST_TEST((on_arrival(double_texting::rollback, true).others == cancel_action::rollback));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_cancelled_is_interrupted_and_one_that_failed_is_an_error) {
  error cancelled{errc::cancelled, "given up"};
  error drained{errc::graph_drained, "stop"};
  error late{errc::node_timeout, "late"};
  error failed{errc::node_failed, "boom"};
  BOOST_TEST((status_of_end(nullptr, cancel_action::none) == run_status::success));
  BOOST_TEST((status_of_end(&cancelled, cancel_action::none) == run_status::interrupted));
  BOOST_TEST((status_of_end(&drained, cancel_action::interrupt) == run_status::interrupted));
  BOOST_TEST((status_of_end(&drained, cancel_action::none) == run_status::error));
  BOOST_TEST((status_of_end(&late, cancel_action::none) == run_status::timeout));
  BOOST_TEST((status_of_end(&failed, cancel_action::none) == run_status::error));
}

BOOST_AUTO_TEST_CASE(a_thread_with_tasks_to_run_is_interrupted_and_one_with_runs_is_busy) {
  BOOST_TEST((status_after(run_status::success, false, false) == thread_status::idle));
  BOOST_TEST((status_after(run_status::success, true, false) == thread_status::interrupted));
  BOOST_TEST((status_after(run_status::interrupted, true, false) == thread_status::interrupted));
  BOOST_TEST((status_after(run_status::error, true, false) == thread_status::error));
  BOOST_TEST((status_after(run_status::timeout, false, false) == thread_status::error));
  BOOST_TEST((status_after(run_status::error, true, true) == thread_status::busy));
}

BOOST_AUTO_TEST_CASE(the_first_run_whose_time_has_come_is_next) {
  BOOST_TEST(pick_next({}, 10).run_id == "");
  BOOST_TEST(pick_next({}, 10).wait_until == 0);
  BOOST_TEST(pick_next({{"a", 5}, {"b", 3}}, 10).run_id == "a"); // the order of arrival
  BOOST_TEST(pick_next({{"a", 50}, {"b", 10}}, 10).run_id == "b");
  auto later = pick_next({{"a", 50}, {"b", 40}}, 10);
  BOOST_TEST(later.run_id == "");
  BOOST_TEST(later.wait_until == 40);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
