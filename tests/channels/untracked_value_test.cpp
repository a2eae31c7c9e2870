// UntrackedValue: kept during the run, never stored.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_untracked_value)

BOOST_AUTO_TEST_CASE(untracked_survives_steps_without_writes) {
  channel_probe c{untracked};
  BOOST_TEST(!c.available());
  BOOST_TEST(c.update({1}));
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(untracked_is_never_stored_and_always_starts_empty) {
  channel_probe c{untracked};
  c.update({1});
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(!c.restored().available());
  auto cell = load_channel(untracked, "key", value(1));
  BOOST_REQUIRE(cell.has_value());
  BOOST_TEST(!cell->set);
}

BOOST_AUTO_TEST_CASE(untracked_guarded_refuses_two_writes_in_one_step_and_stays) {
  channel_probe c{untracked};
  c.update({1});
  auto refused = c.refuse({2, 3});
  BOOST_TEST(refused.code() == errc::invalid_update);
  BOOST_TEST(
    refused.message()
    == "At key 'key': several writes in one step: declare it as troupe::untracked_unguarded to "
       "keep the last one (UntrackedValue(guard=True) can receive only one value per step.)");
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(untracked_unguarded_keeps_the_last_of_several_writes) {
  channel_probe c{untracked_unguarded};
  BOOST_TEST(c.update({1, 2}));
  BOOST_TEST(c.read() == value(2));
}

BOOST_AUTO_TEST_CASE(untracked_ignores_consume_and_finish) {
  channel_probe c{untracked};
  c.update({1});
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
