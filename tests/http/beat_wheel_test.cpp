// Beats of many streams.
#include "http/beat_wheel.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

using beat_clock = beat_wheel::clock;
using std::chrono::milliseconds;

beat_clock::time_point beat_at_ms(std::int64_t ms) {
  return beat_clock::time_point{milliseconds{ms}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_beat_wheel)

BOOST_AUTO_TEST_CASE(beats_that_are_due_close_to_each_other_get_the_same_time) {
  const milliseconds every{5000};
  BOOST_TEST((next_beat(beat_at_ms(1001), every) == beat_at_ms(6100)));
  BOOST_TEST((next_beat(beat_at_ms(1099), every) == beat_at_ms(6100)));
  BOOST_TEST((next_beat(beat_at_ms(1100), every) == beat_at_ms(6100)));
  BOOST_TEST((next_beat(beat_at_ms(1101), every) == beat_at_ms(6200)));
  BOOST_TEST((next_beat(beat_at_ms(1001), milliseconds{50}) == beat_at_ms(1055)));
  BOOST_TEST((next_beat(beat_at_ms(1001), milliseconds{1}) == beat_at_ms(1002)));
}

BOOST_AUTO_TEST_CASE(beats_of_one_time_cost_one_wake_up) {
  boost::asio::io_context io;
  beat_wheel wheel{io};
  int beats = 0;
  auto due = beat_clock::now() + milliseconds{1};
  for (int i = 0; i < 1000; ++i)
    wheel.add(due, [&beats] { ++beats; });
  BOOST_TEST(io.run() == 1u);
  BOOST_TEST(beats == 1000);
}

BOOST_AUTO_TEST_CASE(a_beat_may_add_the_next_one_and_remove_others) {
  boost::asio::io_context io;
  beat_wheel wheel{io};
  std::string heard;
  auto due = beat_clock::now();
  auto never = wheel.add(due + std::chrono::hours{1}, [&] { heard += "never "; });
  wheel.add(due, [&] {
    heard += "first ";
    wheel.remove(never);
    wheel.add(due + milliseconds{1}, [&] { heard += "next "; });
  });
  io.run();
  BOOST_TEST(heard == "first next ");
  BOOST_TEST(wheel.size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_beat_before_the_others_is_not_late) {
  boost::asio::io_context io;
  beat_wheel wheel{io};
  bool is_called = false;
  auto late = wheel.add(beat_clock::now() + std::chrono::hours{1}, [] {});
  wheel.add(beat_clock::now(), [&] {
    is_called = true;
    wheel.remove(late);
  });
  io.run();
  BOOST_TEST(is_called);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
