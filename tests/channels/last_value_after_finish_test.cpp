// LastValueAfterFinish: readable only when nothing else is left to run.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_last_value_after_finish)

const channel_spec deferred{.kind = channel_kind::last_value_after_finish};

BOOST_AUTO_TEST_CASE(deferred_value_is_readable_only_after_the_finish) {
  channel_probe c{deferred};
  BOOST_TEST(c.update({1}));
  BOOST_TEST(!c.available());
  BOOST_TEST(c.read() == value{});
  BOOST_TEST(c.finish());
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(deferred_value_keeps_the_last_of_several_writes) {
  channel_probe c{deferred};
  BOOST_TEST(c.update({1, 2, 3}));
  c.finish();
  BOOST_TEST(c.read() == value(3));
}

BOOST_AUTO_TEST_CASE(deferred_value_stays_in_a_step_without_writes) {
  channel_probe c{deferred};
  c.update({1});
  c.finish();
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_CASE(deferred_value_waits_again_after_a_write) {
  channel_probe c{deferred};
  c.update({1});
  c.finish();
  c.update({2});
  BOOST_TEST(!c.available());
}

BOOST_AUTO_TEST_CASE(deferred_value_finishes_once_and_only_with_a_value) {
  channel_probe c{deferred};
  BOOST_TEST(!c.finish());
  c.update({1});
  BOOST_TEST(c.finish());
  BOOST_TEST(!c.finish());
}

BOOST_AUTO_TEST_CASE(deferred_value_is_consumed_only_when_finished) {
  channel_probe c{deferred};
  c.update({1});
  BOOST_TEST(!c.consume());
  c.finish();
  BOOST_TEST(c.consume());
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.finish());
  BOOST_TEST(!c.store().has_value());
}

BOOST_AUTO_TEST_CASE(deferred_value_stores_the_pair_of_value_and_finished) {
  channel_probe c{deferred};
  BOOST_TEST(!c.store().has_value());
  c.update({"x"});
  BOOST_TEST(*c.store() == value::list({"x", false}));
  BOOST_TEST(!c.restored().available());
  BOOST_TEST(c.restored().finish());
  c.finish();
  BOOST_TEST(*c.store() == value::list({"x", true}));
  BOOST_TEST(c.restored().read() == value("x"));
}

BOOST_AUTO_TEST_CASE(deferred_value_refuses_a_stored_value_that_is_no_pair) {
  channel_probe c{deferred};
  for (const auto& bad : {value("x"), value::list({"x"}), value::list({"x", 1})})
    BOOST_TEST(c.refuse_load(bad).code() == errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
