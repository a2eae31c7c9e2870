// The bounds of the blocking lane, at them and past them.
#include "actors/blocking_pool.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>

namespace troupe {

BOOST_AUTO_TEST_SUITE(actors_limits)

BOOST_AUTO_TEST_CASE(as_many_jobs_wait_for_a_thread_as_the_queue_may_hold_and_no_more) {
  gate hold;
  std::atomic<std::size_t> ran{0};
  blocking_pool pool{1};
  BOOST_REQUIRE(pool.submit([&hold] { hold.pass(); }));
  hold.wait_for(1); // its thread is taken, the queue is empty
  std::size_t taken = 0;
  while (taken <= limits::blocking_queue_max && pool.submit([&ran] { ++ran; }))
    ++taken;
  BOOST_TEST(taken == limits::blocking_queue_max);
  hold.open();
  pool.stop();
  BOOST_TEST(!pool.submit([&ran] { ++ran; }));
  BOOST_TEST(ran <= taken); // those that still waited were dropped
}

BOOST_AUTO_TEST_CASE(as_many_jobs_wait_for_others_as_may_and_no_more) {
  blocking_pool pool{1};
  std::size_t waiting = 0;
  while (waiting <= limits::waiting_threads_max && pool.begin_wait())
    ++waiting;
  BOOST_TEST(waiting == limits::waiting_threads_max);
  pool.end_wait();
  BOOST_TEST(pool.begin_wait());
  BOOST_TEST(!pool.begin_wait());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
