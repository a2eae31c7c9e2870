// Topic: a list of all writes, of one step or accumulating.
#include "tests/channels/channel_probe.hpp"

#include <troupe/control.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_topic)

BOOST_AUTO_TEST_CASE(topic_collects_the_writes_of_a_step_and_flattens_one_level) {
  channel_probe c{topic};
  BOOST_TEST(!c.available());
  BOOST_TEST(c.update({"a", value::list({"b", value::list({"c"})}), "d"}));
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value::list({"a", "b", value::list({"c"}), "d"}));
}

BOOST_AUTO_TEST_CASE(topic_drops_values_at_the_next_step_unless_accumulating) {
  channel_probe step{topic};
  channel_probe all{topic_accumulating};
  for (auto* c : {&step, &all}) {
    c->update({"a"});
    BOOST_TEST(c->update({"b", "c"}));
  }
  BOOST_TEST(step.read() == value::list({"b", "c"}));
  BOOST_TEST(all.read() == value::list({"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(topic_is_cleared_by_a_step_without_writes_unless_accumulating) {
  channel_probe step{topic};
  BOOST_TEST(!step.update({}));
  step.update({"a"});
  BOOST_TEST(step.update({}));
  BOOST_TEST(!step.available());
  BOOST_TEST(step.read() == value{});
  BOOST_TEST(!step.update({}));
  BOOST_TEST(reacts_to_silence(topic));

  channel_probe all{topic_accumulating};
  all.update({"a"});
  BOOST_TEST(!all.update({}));
  BOOST_TEST(all.read() == value::list({"a"}));
  BOOST_TEST(!reacts_to_silence(topic_accumulating));
}

BOOST_AUTO_TEST_CASE(topic_counts_empty_lists_as_no_values) {
  channel_probe c{topic};
  BOOST_TEST(!c.update({value::list(), value::list()}));
  c.update({"a"});
  BOOST_TEST(c.update({value::list()})); // cleared
  BOOST_TEST(!c.available());

  channel_probe all{topic_accumulating};
  all.update({"a"});
  BOOST_TEST(!all.update({value::list()}));
  BOOST_TEST(all.read() == value::list({"a"}));
}

BOOST_AUTO_TEST_CASE(topic_shares_a_lone_list) {
  channel_probe c{topic};
  auto list = value::list({"a", "b"});
  c.update({list});
  BOOST_TEST(c.read().items().data() == list.items().data());
}

BOOST_AUTO_TEST_CASE(topic_keeps_sends_whole) {
  channel_probe c{topic};
  auto packet = value::of(send{"node", value::list({1, 2})});
  c.update({packet});
  BOOST_TEST(c.read() == value::list({packet}));
}

BOOST_AUTO_TEST_CASE(topic_stores_its_list_even_when_empty) {
  for (const auto& spec : {topic, topic_accumulating}) {
    channel_probe c{spec};
    BOOST_TEST(*c.store() == value::list());
    BOOST_TEST(!c.restored().available());
    c.update({"a", "b"});
    BOOST_TEST(*c.store() == value::list({"a", "b"}));
    auto next = c.restored();
    BOOST_TEST(next.read() == value::list({"a", "b"}));
    BOOST_TEST(next.update({"c"}));
    BOOST_TEST(next.read().size() == (spec.accumulate ? 3u : 1u));
  }
}

BOOST_AUTO_TEST_CASE(topic_refuses_a_stored_value_that_is_no_list) {
  auto refused = channel_probe{topic}.refuse_load("x");
  BOOST_TEST(refused.code() == errc::checkpoint_corrupt);
  BOOST_TEST(refused.message() == "load a channel: the stored value does not fit its kind: `key`");
}

BOOST_AUTO_TEST_CASE(topic_ignores_consume_and_finish) {
  channel_probe c{topic};
  c.update({1});
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_CASE(unique_topic_takes_each_value_once) {
  channel_probe c{topic_unique};
  BOOST_TEST(c.update({"a", value::list({"b", "a"}), "b"}));
  BOOST_TEST(c.read() == value::list({"a", "b"}));
  BOOST_TEST(!c.update({"b"}));
  BOOST_TEST(c.update({"b", "c", 1, 1.0}));
  BOOST_TEST(c.read() == value::list({"a", "b", "c", 1, 1.0}));
  auto next = c.restored();
  BOOST_TEST(!next.update({"a"}));
  BOOST_TEST(!(topic_unique == topic_accumulating));
}

BOOST_AUTO_TEST_CASE(unique_topic_that_does_not_accumulate_forgets_with_the_step) {
  channel_probe c{{.kind = channel_kind::topic, .unique = true}};
  BOOST_TEST(c.update({"a", "a"}));
  BOOST_TEST(c.read() == value::list({"a"}));
  BOOST_TEST(c.update({"a"}));
  BOOST_TEST(c.read() == value::list({"a"}));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
