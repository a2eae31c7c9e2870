// The memory that updates cost: hot paths allocate nothing, appends do not copy older elements.
#include "tests/channels/channel_probe.hpp"
#include "tests/fixtures/counted_memory.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_allocation)

template <class F> std::size_t bytes_of(F&& f) {
  auto before = counted_memory::allocated_bytes;
  f();
  return counted_memory::allocated_bytes - before;
}

BOOST_AUTO_TEST_CASE(updates_of_plain_cells_take_no_memory) {
  const std::vector<value> writes{value("a string that is too long to be held inline")};
  for (const auto& spec : {last_value, any_value, ephemeral, untracked}) {
    channel_probe c{spec};
    auto bytes = bytes_of([&c, &writes] {
      for (int i = 0; i < 3; ++i) {
        (void)update_channel(c.spec, "key", c.cell, writes);
        (void)update_channel(c.spec, "key", c.cell, {});
      }
      (void)c.read();
      (void)c.consume();
    });
    BOOST_TEST(bytes == 0u);
  }
}

BOOST_AUTO_TEST_CASE(lone_list_written_to_a_topic_takes_no_memory) {
  const std::vector<value> writes{value::list({1, 2, 3})};
  channel_probe c{topic};
  auto bytes = bytes_of([&c, &writes] { (void)update_channel(c.spec, "key", c.cell, writes); });
  BOOST_TEST(bytes == 0u);
}

// A list of 20 000 elements is 320 kB: one copy would show.
BOOST_AUTO_TEST_CASE(appends_to_a_long_list_do_not_copy_it) {
  const std::vector<value> more{value::list({"more"})};
  for (const auto& spec : {append, sum, add_messages, delta(append), delta(add_messages)}) {
    channel_probe c{starting_at(spec, value::list())};
    c.update({value::list(std::vector<value>(20'000, "text"))});
    c.update(more); // makes room
    auto bytes = bytes_of([&c, &more] {
      for (int i = 0; i < 50; ++i)
        (void)update_channel(c.spec, "key", c.cell, more);
    });
    BOOST_TEST(bytes < 50'000u);
  }
}

BOOST_AUTO_TEST_CASE(append_to_a_topic_that_accumulates_does_not_copy_it) {
  channel_probe c{topic_accumulating};
  c.update({value::list(std::vector<value>(20'000, "text"))});
  c.update({"more"});
  BOOST_TEST(bytes_of([&c] {
               for (int i = 0; i < 50; ++i)
                 c.update({"more"});
             })
             < 50'000u);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
