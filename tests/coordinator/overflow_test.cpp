// Parts that bodies stream while their reader lags.
#include "coordinator/stream_queue.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace troupe {
namespace {

/// Two nodes on the reader's thread: it reads nothing while the first streams `parts` parts.
template <class Say> compiled_graph two_nodes(int parts, std::vector<std::string>& ran, Say say) {
  return chain_of({"first", "second"}, "two",
                  [parts, &ran, say](const std::string& node, auto& ctx) {
                    for (int i = 0; node == "first" && i < parts; ++i)
                      say(ctx, value(i));
                    ran.push_back(node);
                  });
}

// Modes are without `custom`, which would put the bodies on threads of the pool: the reader reads
// tools, whose events bodies stream likewise.
compiled_graph tool_talker(int parts, std::vector<std::string>& ran) {
  return two_nodes(parts, ran,
                   [](context& ctx, const value& part) { ctx.stream_tool_event(part); });
}

stream_options reading(overflow when_full) {
  stream_options out{stream_mode::tools, stream_mode::values, stream_mode::updates};
  out.queue_parts_max = 3;
  out.when_full = when_full;
  return out;
}

struct got {
  std::vector<int> streamed;
  int values = 0;
  int updates = 0;
  std::optional<error> failure;
};

got read_all(part_stream parts) {
  got out;
  while (true) {
    auto next = parts.try_next();
    if (!next) {
      out.failure = next.error();
      return out;
    }
    if (!*next)
      return out;
    const auto& part = **next;
    if (part.mode == stream_mode::tools)
      out.streamed.push_back(static_cast<int>(part.data.as_int()));
    else
      ++(part.mode == stream_mode::values ? out.values : out.updates);
  }
}

const run_config on_thread{.thread_id = "t"};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_overflow)

BOOST_AUTO_TEST_CASE(a_reader_whose_bodies_wait_gets_every_part) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(two_nodes(50, ran, [](context& ctx, const value& part) { ctx.write(part); }));
  stream_options options{stream_mode::custom, stream_mode::values};
  options.queue_parts_max = 3;
  int next = 0;
  for (auto& part : app.stream(value::map(), on_thread, options))
    if (part.mode == stream_mode::custom)
      BOOST_TEST(part.data == value(next++));
  BOOST_TEST(next == 50);
}

BOOST_AUTO_TEST_CASE(the_newest_parts_that_bodies_stream_may_be_dropped) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(tool_talker(10, ran));
  auto all = read_all(app.stream(value::map(), on_thread, reading(overflow::drop_newest)));
  BOOST_TEST(!all.failure.has_value());
  BOOST_TEST(!all.streamed.empty());
  BOOST_TEST(all.streamed.size() <= 3u);
  BOOST_TEST(all.streamed.front() == 0);
  BOOST_TEST(all.updates == 2); // of the engine nothing is dropped
  BOOST_TEST(all.values == 2);
}

BOOST_AUTO_TEST_CASE(the_oldest_parts_that_bodies_stream_may_be_dropped_and_no_others) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(tool_talker(10, ran));
  auto all = read_all(app.stream(value::map(), on_thread, reading(overflow::drop_oldest)));
  BOOST_TEST(!all.failure.has_value());
  BOOST_TEST(!all.streamed.empty());
  BOOST_TEST(all.streamed.size() <= 3u);
  BOOST_TEST(all.streamed.back() == 9);
  BOOST_TEST(all.updates == 2);
  BOOST_TEST(all.values == 2);
}

BOOST_AUTO_TEST_CASE(parts_come_in_the_order_of_their_numbers_also_where_some_were_dropped) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(tool_talker(10, ran));
  std::uint64_t last = 0;
  for (auto& part : app.stream(value::map(), on_thread, reading(overflow::drop_oldest))) {
    BOOST_TEST(part.seq > last);
    last = part.seq;
  }
  BOOST_TEST(last > 4u); // two values, two updates, and some of what the body streamed
}

BOOST_AUTO_TEST_CASE(parts_that_wait_together_are_read_in_the_order_of_their_numbers) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  lent_thread reader{system};
  stream_queue queue{reading(overflow::wait), reader};
  using enum stream_mode;
  auto part_of = [](stream_mode mode) {
    stream_part out;
    out.mode = mode;
    return out;
  };
  auto modes_read = [&queue] {
    std::vector<stream_mode> out;
    part_list taken;
    queue.take_all(taken);
    for (const auto& part : taken)
      out.push_back(part.mode);
    return out;
  };
  queue.emit_custom(part_of(tools));
  BOOST_TEST((modes_read() == std::vector{tools}));
  queue.emit(part_of(values));
  queue.emit_custom(part_of(tools));
  queue.emit(part_of(updates));
  BOOST_TEST((modes_read() == std::vector{values, tools, updates}));
  queue.emit(part_of(values));
  BOOST_TEST((modes_read() == std::vector{values}));
  BOOST_TEST(modes_read().empty());
}

BOOST_AUTO_TEST_CASE(a_reader_that_may_not_lag_stops_the_run_at_the_end_of_its_step) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(tool_talker(10, ran));
  auto all = read_all(app.stream(value::map(), on_thread, reading(overflow::fail)));
  BOOST_REQUIRE(all.failure.has_value());
  BOOST_TEST((all.failure->code() == errc::overloaded));
  BOOST_TEST(ran == (std::vector<std::string>{"first"}), boost::test_tools::per_element());
  BOOST_TEST(all.updates == 1);
  // The work of the step is stored, and the run resumes after it.
  BOOST_TEST(app.get_state(on_thread).next == (std::vector<std::string>{"second"}),
             boost::test_tools::per_element());
  BOOST_TEST(app.invoke(nullptr, on_thread).value()["log"] == words({"first", "second"}));
  BOOST_TEST(ran.size() == 2u);
}

// Parts of such a run pass through a gate that waits for the disk.
BOOST_AUTO_TEST_CASE(a_durable_run_stops_for_its_reader_too) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(tool_talker(10, ran));
  auto all = read_all(app.stream(value::map(), {.thread_id = "t", .durability = durability::sync},
                                 reading(overflow::fail)));
  BOOST_REQUIRE(all.failure.has_value());
  BOOST_TEST((all.failure->code() == errc::overloaded));
  BOOST_TEST(ran == (std::vector<std::string>{"first"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_that_stops_for_its_reader_leaves_others_of_its_control_alone) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(tool_talker(10, ran));
  run_control control;
  auto all = read_all(
    app.stream(value::map(), {.thread_id = "t", .control = control}, reading(overflow::fail)));
  BOOST_TEST(all.failure.has_value());
  BOOST_TEST(!control.drain_requested());
}

BOOST_AUTO_TEST_CASE(a_reader_that_may_not_lag_and_does_not_gets_all) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(tool_talker(1, ran));
  auto options = reading(overflow::fail);
  options.queue_parts_max = 100;
  auto all = read_all(app.stream(value::map(), on_thread, options));
  BOOST_TEST(!all.failure.has_value());
  BOOST_TEST(all.streamed.size() == 1u);
  BOOST_TEST(ran.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
