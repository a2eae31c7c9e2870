// AnyValue: the last write of a step, gone when a step writes nothing.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_any_value)

BOOST_AUTO_TEST_CASE(any_value_keeps_the_last_of_several_writes) {
  channel_probe c{any_value};
  BOOST_TEST(!c.available());
  BOOST_TEST(c.update({1, 2}));
  BOOST_TEST(c.read() == value(2));
}

BOOST_AUTO_TEST_CASE(any_value_forgets_in_a_step_without_writes) {
  channel_probe c{any_value};
  c.update({1});
  BOOST_TEST(c.update({}));
  BOOST_TEST(!c.available());
  BOOST_TEST(c.read() == value{});
  BOOST_TEST(!c.update({}));
  BOOST_TEST(reacts_to_silence(any_value));
}

BOOST_AUTO_TEST_CASE(any_value_comes_back_from_a_checkpoint) {
  channel_probe c{any_value};
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(!c.restored().available());
  c.update({1});
  BOOST_TEST(*c.store() == value(1));
  BOOST_TEST(c.restored().read() == value(1));
}

BOOST_AUTO_TEST_CASE(any_value_ignores_consume_and_finish) {
  channel_probe c{any_value};
  c.update({1});
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
