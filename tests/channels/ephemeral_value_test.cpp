// EphemeralValue: a value that lives for one step.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_ephemeral_value)

BOOST_AUTO_TEST_CASE(ephemeral_forgets_in_a_step_without_writes) {
  channel_probe c{ephemeral};
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.update({nullptr}));
  BOOST_TEST(c.available());
  BOOST_TEST(c.update({}));
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.update({}));
  BOOST_TEST(reacts_to_silence(ephemeral));
}

BOOST_AUTO_TEST_CASE(ephemeral_guarded_refuses_two_writes_in_one_step_and_stays) {
  channel_probe c{ephemeral};
  c.update({1});
  auto refused = c.refuse({2, 3});
  BOOST_TEST(refused.code() == errc::invalid_update);
  BOOST_TEST(
    refused.message()
    == "At key 'key': several writes in one step: declare it as troupe::ephemeral_unguarded to "
       "keep the last one (EphemeralValue(guard=True) can receive only one value per step.)");
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(ephemeral_unguarded_keeps_the_last_of_several_writes) {
  channel_probe c{ephemeral_unguarded};
  BOOST_TEST(c.update({1, 2}));
  BOOST_TEST(c.read() == value(2));
}

BOOST_AUTO_TEST_CASE(ephemeral_comes_back_from_a_checkpoint) {
  channel_probe c{ephemeral};
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(!c.restored().available());
  c.update({1});
  BOOST_TEST(*c.store() == value(1));
  BOOST_TEST(c.restored().read() == value(1));
}

BOOST_AUTO_TEST_CASE(ephemeral_ignores_consume_and_finish) {
  channel_probe c{ephemeral};
  c.update({1});
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
