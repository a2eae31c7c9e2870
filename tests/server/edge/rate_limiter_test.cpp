// Rates of callers, with times of the test.
#include "server/edge/rate_limiter.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server::test {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(server_rate_limiter)

BOOST_AUTO_TEST_CASE(a_caller_has_a_burst_and_then_its_rate) {
  rate_limiter limiter{{.per_second = 2, .burst = 3}};
  rate_limiter::time_point now{};
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(!limiter.take("a", now));
  BOOST_TEST((limiter.take("a", now).value() == 1s));
  BOOST_TEST(!limiter.take("b", now)); // another caller is not meant
  BOOST_TEST(limiter.take("a", now + 499ms).has_value());
  BOOST_TEST(!limiter.take("a", now + 500ms));
  BOOST_TEST(limiter.take("a", now + 501ms).has_value());
  for (int i = 0; i < 3; ++i) // a long pause gives a burst, and no more
    BOOST_TEST(!limiter.take("a", now + 1h));
  BOOST_TEST(limiter.take("a", now + 1h).has_value());
}

BOOST_AUTO_TEST_CASE(the_wait_is_until_the_next_token) {
  rate_limiter limiter{{.per_second = 0.1, .burst = 1}};
  rate_limiter::time_point now{};
  BOOST_TEST(!limiter.take("a", now));
  BOOST_TEST((limiter.take("a", now).value() == 10s));
  BOOST_TEST((limiter.take("a", now + 5s).value() == 5s));
}

BOOST_AUTO_TEST_CASE(a_rate_of_zero_limits_nothing) {
  rate_limiter limiter{{}};
  for (int i = 0; i < 1000; ++i)
    BOOST_TEST(!limiter.take("a", {}));
}

BOOST_AUTO_TEST_CASE(only_so_many_callers_are_remembered) {
  rate_limiter limiter{{.per_second = 1, .burst = 1}, 2};
  rate_limiter::time_point now{};
  BOOST_TEST(!limiter.take("a", now));
  BOOST_TEST(!limiter.take("b", now));
  BOOST_TEST(limiter.take("a", now).has_value());
  BOOST_TEST(!limiter.take("c", now)); // b goes, which was used longest ago
  BOOST_TEST(limiter.take("a", now).has_value());
  BOOST_TEST(!limiter.take("b", now));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
