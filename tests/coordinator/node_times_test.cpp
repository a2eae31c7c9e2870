// Durations of tasks: which of them count, and where the next task runs.
#include "coordinator/node_times.hpp"

#include <troupe/limits.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(coordinator_node_times)

BOOST_AUTO_TEST_CASE(a_node_is_trivial_when_two_tasks_were) {
  node_times times{2};
  times.add(0, 1us);
  BOOST_TEST(!times.trivial(0));
  times.add(0, 1us);
  BOOST_TEST(times.trivial(0));
  BOOST_TEST(!times.trivial(1));
}

BOOST_AUTO_TEST_CASE(a_single_long_task_below_a_millisecond_does_not_count) {
  node_times times{1};
  times.add(0, 900us); // the first of all
  for (int i = 0; i < 100; ++i) {
    times.add(0, 1us);
    BOOST_TEST(times.trivial(0));
    times.add(0, 900us);
    BOOST_TEST(times.trivial(0));
  }
  times.add(0, 900us); // the second in a row
  BOOST_TEST(!times.trivial(0));
}

BOOST_AUTO_TEST_CASE(each_task_from_a_millisecond_on_counts) {
  node_times times{1};
  times.add(0, 1us);
  times.add(0, 1us);
  times.add(0, 1ms);
  BOOST_TEST(!times.trivial(0));
  BOOST_TEST(!times.below(0, 100us));
  node_times slow{1};
  slow.add(0, 2ms);
  BOOST_TEST(slow.below(0, 3ms));
  BOOST_TEST(!slow.below(0, 2ms));
}

BOOST_AUTO_TEST_CASE(a_task_of_no_measured_time_counts) {
  node_times times{1};
  times.add(0, 0ns);
  times.add(0, 0ns);
  BOOST_TEST(times.trivial(0));
}

BOOST_AUTO_TEST_CASE(a_node_of_some_microseconds_is_tried_here_now_and_then) {
  node_times times{1};
  for (int i = 0; i < 3; ++i)
    times.add(0, 20us); // on a thread that had to wake up
  int here = 0;
  for (int i = 0; i < 90; ++i)
    here += times.runs_here(0) ? 1 : 0;
  BOOST_TEST(here == 10);
  times.add_here(0, 20us); // it is as long here
  BOOST_TEST(!times.trivial(0));
  times.add_here(0, 2us);
  BOOST_TEST(times.trivial(0));
  BOOST_TEST(times.runs_here(0));
  BOOST_TEST(times.runs_here(0));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_unknown_or_long_is_never_tried_here) {
  node_times times{2};
  times.add(1, 60us);
  times.add(1, 60us);
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(!times.runs_here(0));
    BOOST_TEST(!times.runs_here(1));
  }
}

BOOST_AUTO_TEST_CASE(later_durations_count_more_in_a_mean) {
  BOOST_TEST(mean_duration(0, 80ns) == 80u);
  BOOST_TEST(mean_duration(80, 160ns) == 90u);
  BOOST_TEST(mean_duration(0, 0ns) == 1u); // 0 would mean that none is known
  BOOST_TEST(mean_duration(0, std::chrono::hours{1}) == 4'000'000'000u);
}

BOOST_AUTO_TEST_CASE(a_body_that_holds_a_thread_too_long_is_reported_once) {
  node_times times{1};
  BOOST_TEST(!times.report_slow(0, limits::slow_body));
  BOOST_TEST(times.report_slow(0, limits::slow_body + 1ns));
  BOOST_TEST(!times.report_slow(0, limits::slow_body + 1ns));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
