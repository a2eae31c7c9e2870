// LastValue: one write a step, kept.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_last_value)

BOOST_AUTO_TEST_CASE(last_value_is_empty_before_the_first_write) {
  channel_probe c{last_value};
  BOOST_TEST(!c.available());
  BOOST_TEST(c.read() == value{});
  BOOST_TEST(!c.store().has_value());
}

BOOST_AUTO_TEST_CASE(last_value_keeps_the_write_of_a_step) {
  channel_probe c{last_value};
  BOOST_TEST(c.update({1}));
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(last_value_stays_in_a_step_without_writes) {
  channel_probe c{last_value};
  c.update({1});
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(last_value_counts_an_equal_write_as_an_update) {
  channel_probe c{last_value};
  c.update({1});
  BOOST_TEST(c.update({1}));
}

BOOST_AUTO_TEST_CASE(last_value_takes_null_for_a_value) {
  channel_probe c{last_value};
  BOOST_TEST(c.update({nullptr}));
  BOOST_TEST(c.available());
  BOOST_REQUIRE(c.store().has_value());
  BOOST_TEST(*c.store() == value{});
}

BOOST_AUTO_TEST_CASE(last_value_refuses_two_writes_in_one_step_and_stays) {
  channel_probe c{last_value};
  c.update({1});
  auto refused = c.refuse({2, 3});
  BOOST_TEST(refused.code() == errc::invalid_update);
  BOOST_TEST(
    refused.message()
    == "At key 'key': Can receive only one value per step. Several nodes wrote it: give the "
       "channel a reducer, as in (key, troupe::append)");
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(last_value_comes_back_from_a_checkpoint) {
  channel_probe c{last_value};
  BOOST_TEST(!c.restored().available());
  c.update({value{{"a", 1}}});
  BOOST_TEST(c.restored().read() == (value{{"a", 1}}));
}

BOOST_AUTO_TEST_CASE(last_value_ignores_consume_and_finish) {
  channel_probe c{last_value};
  c.update({1});
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(managed_values_hold_nothing_and_take_no_write) {
  for (const auto& spec : {remaining_steps, is_last_step}) {
    channel_probe c{spec};
    BOOST_TEST(!c.update({1, 2}));
    BOOST_TEST(!c.available());
    BOOST_TEST(!c.store().has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
