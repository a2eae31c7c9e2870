// List channels that keep their last elements only.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_keep_last)

value numbers(int from, int to) {
  std::vector<value> out;
  for (int i = from; i <= to; ++i)
    out.emplace_back(i);
  return value::list(std::move(out));
}

BOOST_AUTO_TEST_CASE(keep_last_drops_the_older_elements_at_the_end_of_a_step) {
  for (const auto& spec : {append, topic_accumulating, topic, delta(append)}) {
    channel_probe c{keep_last(spec, 3)};
    c.update({numbers(1, 3)});
    BOOST_TEST(c.read() == numbers(1, 3));
    BOOST_TEST(c.update({numbers(4, 5), numbers(6, 7)}));
    BOOST_TEST(c.read() == numbers(5, 7));
  }
}

BOOST_AUTO_TEST_CASE(keep_last_is_kept_by_what_is_made_of_the_channel) {
  channel_probe c{delta(keep_last(append, 2), 7)};
  c.update({numbers(1, 3)});
  BOOST_TEST(c.read() == numbers(2, 3));
  BOOST_TEST(c.spec.snapshot_frequency == 7);
  BOOST_TEST(starting_at(keep_last(append, 2), value::list()).keep_last == 2u);
}

BOOST_AUTO_TEST_CASE(keep_last_reads_a_history_as_it_ran) {
  auto spec = keep_last(delta(append), 2);
  channel_probe c{spec};
  const std::vector<value> writes{numbers(1, 3), numbers(4, 4), numbers(5, 5)};
  for (const auto& w : writes)
    c.update({w});
  BOOST_TEST(replay_channel(spec, "key", std::nullopt, writes).value().content == c.read());
}

BOOST_AUTO_TEST_CASE(keep_last_counts_messages_and_what_an_overwrite_puts_in_place) {
  channel_probe c{keep_last(add_messages, 2)};
  c.update({value::list({"a", "b", "c"})});
  BOOST_TEST(c.read().size() == 2u);
  BOOST_TEST(c.read()[1].payload()["content"] == "c");
  c.update({value::extension(value_kind::overwrite, numbers(1, 5))});
  BOOST_TEST(c.read() == numbers(4, 5));
}

BOOST_AUTO_TEST_CASE(keep_last_leaves_values_alone_that_are_no_lists) {
  channel_probe c{keep_last(starting_at(sum, ""), 1)};
  c.update({"a longer text"});
  BOOST_TEST(c.read().is_string());
}

BOOST_AUTO_TEST_CASE(keep_last_is_part_of_what_two_declarations_agree_on) {
  BOOST_TEST((keep_last(append, 2) == keep_last(append, 2)));
  BOOST_TEST(!(keep_last(append, 2) == append));
}

BOOST_AUTO_TEST_CASE(keep_last_refuses_no_elements_other_kinds_and_delta_messages) {
  BOOST_CHECK_THROW(keep_last(append, 0), error);
  BOOST_CHECK_THROW(keep_last(last_value, 1), error);
  BOOST_CHECK_THROW(keep_last(delta(add_messages), 1), error);
  BOOST_CHECK_THROW(delta(keep_last(add_messages, 1)), error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
