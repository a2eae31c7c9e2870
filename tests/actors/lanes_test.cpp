// The threads below the actors: the blocking pool, the timer, and units that are used again.
#include "actors/blocking_pool.hpp"
#include "actors/timer.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(actors_lanes)

BOOST_AUTO_TEST_CASE(pool_runs_as_many_jobs_at_once_as_its_bound_and_the_rest_later) {
  blocking_pool pool{3};
  gate hold;
  std::atomic<int> ran{0};
  for (int i = 0; i < 5; ++i)
    BOOST_TEST(pool.submit([&] {
      hold.pass();
      ++ran;
    }));
  hold.wait_for(3); // three are held: all threads there may be
  BOOST_TEST(ran == 0);
  hold.open();
  hold.wait_for(5);
  pool.stop();
  BOOST_TEST(ran == 5);
}

BOOST_AUTO_TEST_CASE(pool_runs_what_a_job_leaves_behind_it_on_the_thread_that_is_free_then) {
  blocking_pool pool{2};
  gate over;
  std::thread::id first, second;
  BOOST_TEST(pool.submit([&] {
    first = std::this_thread::get_id();
    BOOST_TEST(pool.submit_after_this([&] {
      second = std::this_thread::get_id();
      over.pass();
    }));
  }));
  over.wait_for(1); // nobody else was started for it
  over.open();
  pool.stop();
  BOOST_TEST((first == second));
  BOOST_TEST(!pool.submit_after_this([] {}));
}

BOOST_AUTO_TEST_CASE(pool_that_stops_ends_what_runs_and_drops_what_waits) {
  blocking_pool pool{1};
  gate hold;
  std::atomic<int> ran{0};
  auto kept = std::make_shared<int>(1);
  BOOST_TEST(pool.submit([&] {
    hold.pass();
    ++ran;
  }));
  hold.wait_for(1);
  BOOST_TEST(pool.submit([&ran, kept] { ++ran; }));
  std::thread stopper{[&pool] { pool.stop(); }};
  // The job that waits is dropped before the running one ends; what it held is given up.
  while (kept.use_count() > 1)
    std::this_thread::yield();
  hold.open();
  stopper.join();
  BOOST_TEST(ran == 1);
  BOOST_TEST(!pool.submit([] {}));
}

BOOST_AUTO_TEST_CASE(timer_calls_in_the_order_of_the_times_not_of_the_requests) {
  timer clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> order;
  auto note = [&](int i) {
    std::lock_guard lock{mutex};
    order.push_back(i);
    changed.notify_all();
  };
  auto start = timer::clock::now() + std::chrono::milliseconds{5};
  clock.at(start + std::chrono::milliseconds{2}, [&] { note(3); });
  clock.at(start, [&] { note(1); });
  clock.at(start, [&] { note(2); });
  std::unique_lock lock{mutex};
  changed.wait(lock, [&] { return order.size() == 3; });
  BOOST_TEST((order == std::vector{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(timer_that_stops_drops_what_waits) {
  timer clock;
  auto kept = std::make_shared<int>(1);
  clock.after(std::chrono::hours{1}, [kept] {});
  BOOST_TEST(kept.use_count() == 2);
  clock.stop();
  BOOST_TEST(kept.use_count() == 1);
  clock.after(std::chrono::hours{1}, [kept] {});
  BOOST_TEST(kept.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
