// Events of tasks that ran side by side, back in the order of the tasks.
#include "tests/conformance/event_order.hpp"
#include "tests/conformance/shuffle.hpp"
#include "tests/conformance/uses.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

namespace troupe::conformance {
namespace {

using strings = std::vector<std::string>;

stream_part debug(strings ns, const char* type, const char* name, const char* id) {
  auto task = value::map({{"name", name}, {"id", id}});
  return {stream_mode::debug, std::move(ns), value::map({{"type", type}, {"payload", task}})};
}

stream_part update(strings ns, const char* text) {
  return {stream_mode::updates, std::move(ns), text};
}

stream_part custom(strings ns, const char* text, const char* writer) {
  return {stream_mode::custom, std::move(ns), signed_part(text, writer)};
}

stream_part message(const char* text, const char* writer) {
  auto metadata = value::map({{"langgraph_checkpoint_ns", writer}});
  return {stream_mode::messages, {}, value::list({value(text), metadata})};
}

stream_part started(strings ns, const char* name, const char* id, const char* trigger) {
  auto task = value::map({{"name", name}, {"id", id}, {"triggers", value::list({trigger})}});
  return {stream_mode::debug, std::move(ns), value::map({{"type", "task"}, {"payload", task}})};
}

// The parts other than debug parts, as text.
strings told(std::vector<stream_part> parts, const strings& handlers = {}) {
  strings out;
  for (const auto& part : in_task_order(std::move(parts), handlers))
    if (part.mode != stream_mode::debug)
      out.emplace_back((part.data.is_list() ? part.data[0] : part.data).as_string());
  return out;
}

BOOST_AUTO_TEST_SUITE(conformance_event_order)

BOOST_AUTO_TEST_CASE(what_belongs_to_a_task_comes_in_the_order_of_the_tasks) {
  auto parts = told({
    update({}, "begin"),
    debug({}, "task", "a", "1"),
    debug({}, "task", "b", "2"),
    custom({}, "b writes", "b:2"),
    custom({}, "a writes", "a:1"),
    message("b says", "b:2"),
    update({}, "b done"),
    debug({}, "task_result", "b", "2"),
    update({}, "a done"),
    debug({}, "task_result", "a", "1"),
    update({}, "end"),
  });
  BOOST_TEST(parts
               == (strings{"begin", "a writes", "a done", "b writes", "b says", "b done", "end"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_moves_from_one_step_to_another) {
  auto parts = told({
    debug({}, "task", "b", "1"),
    update({}, "b done"),
    debug({}, "task_result", "b", "1"),
    update({}, "step done"),
    debug({}, "task", "a", "2"),
    update({}, "a done"),
    debug({}, "task_result", "a", "2"),
  });
  BOOST_TEST(parts == (strings{"b done", "step done", "a done"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(inner_graphs_are_put_in_order_too) {
  auto parts = told({
    debug({}, "task", "a", "1"),
    debug({}, "task", "b", "2"),
    debug({"b:2"}, "task", "x", "3"),
    debug({"a:1"}, "task", "y", "4"),
    debug({"b:2"}, "task", "z", "5"),
    update({"b:2"}, "b/z"),
    debug({"b:2"}, "task_result", "z", "5"),
    update({"a:1"}, "a/y"),
    debug({"a:1"}, "task_result", "y", "4"),
    update({"b:2"}, "b/x"),
    debug({"b:2"}, "task_result", "x", "3"),
    update({}, "b"),
    debug({}, "task_result", "b", "2"),
    update({}, "a"),
    debug({}, "task_result", "a", "1"),
  });
  BOOST_TEST(parts == (strings{"a/y", "a", "b/x", "b/z", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(calls_of_one_task_stay_as_they_came) {
  auto parts = told({
    debug({}, "task", "a", "1"),
    debug({}, "task", "b", "2"),
    update({"b:2"}, "b first"),
    custom({}, "b between", "b:2"),
    update({"b:2", "1"}, "b second"),
    custom({}, "a writes", "a:1"),
  });
  BOOST_TEST(parts == (strings{"a writes", "b first", "b between", "b second"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(handlers_come_behind_the_tasks_in_the_order_of_those_that_failed) {
  auto parts = told(
    {
      debug({}, "task", "bad", "1"),
      debug({}, "task", "bad", "2"),
      debug({}, "task", "ok", "3"),
      debug({}, "task_result", "bad", "1"),
      debug({}, "task_result", "bad", "2"),
      update({}, "ok"),
      debug({}, "task_result", "ok", "3"),
      custom({}, "second writes", "bad:2|handler:5"),
      update({"bad:2", "handler:5"}, "graph in second"),
      update({}, "second"),
      debug({}, "task_result", "handler", "5"),
      message("first says", "bad:1|handler:4"),
      update({}, "first"),
      debug({}, "task_result", "handler", "4"),
    },
    {"bad:2|handler:5", "bad:1|handler:4"});
  BOOST_TEST(
    parts == (strings{"ok", "first says", "first", "second writes", "graph in second", "second"}),
    boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_workflow_does_stays_as_it_came) {
  auto parts = told({
    update({}, "main begins"), // another mode reports it before `debug` does
    started({}, "main", "1", START),
    started({}, "task", "2", "__pregel_push"),
    custom({"main:1"}, "task writes", "main:1|task:2"),
    update({}, "task done"),
    debug({}, "task_result", "task", "2"),
    custom({}, "main writes", "main:1"),
    update({}, "main done"),
    debug({}, "task_result", "main", "1"),
  });
  BOOST_TEST(parts
               == (strings{"main begins", "task writes", "task done", "main writes", "main done"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_workflow_beside_another_comes_whole_and_graphs_in_it_are_put_in_order) {
  auto parts = told({
    started({}, "a", "1", "branch:to:a"),
    started({}, "b", "2", "branch:to:b"),
    started({"b:2"}, "flow", "3", START),
    started({"a:1"}, "flow", "4", START),
    started({"b:2"}, "task", "5", "__pregel_push"),
    started({"a:1"}, "task", "6", "__pregel_push"),
    update({"b:2"}, "b/task"),
    started({"a:1", "flow:4"}, "x", "7", "branch:to:x"),
    started({"a:1", "flow:4"}, "y", "8", "branch:to:y"),
    custom({"a:1", "flow:4"}, "a/flow/y", "a:1|flow:4|y:8"),
    debug({"b:2"}, "task_result", "task", "5"),
    custom({"a:1", "flow:4"}, "a/flow/x", "a:1|flow:4|x:7"),
    update({"a:1"}, "a/task"),
    debug({"a:1"}, "task_result", "task", "6"),
    update({"b:2"}, "b/flow"),
    update({"a:1"}, "a/flow"),
  });
  BOOST_TEST(parts == (strings{"a/flow/x", "a/flow/y", "a/task", "a/flow", "b/task", "b/flow"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(delays_depend_on_the_seed_and_the_count) {
  auto drawn = [](std::uint64_t seed) {
    shuffle s{seed};
    std::vector<std::int64_t> out;
    for (int i = 0; i < 20; ++i)
      out.push_back(s.delay(i % 2 ? "a" : "b").count());
    return out;
  };
  BOOST_TEST((drawn(1) == drawn(1)));
  BOOST_TEST((drawn(1) != drawn(2)));
  auto some = drawn(3);
  BOOST_TEST(std::set<std::int64_t>(some.begin(), some.end()).size() > 3u);
}

BOOST_AUTO_TEST_CASE(uses_differ_when_the_users_came_in_another_order) {
  use_log one;
  use_log other;
  one.add("$count n", "a");
  one.add("$count n", "b");
  other.add("$count n", "b");
  BOOST_TEST((one.first_difference(other) == "$count n"));
  other.add("$count n", "a");
  BOOST_TEST((one.first_difference(other) == "$count n"));
  BOOST_TEST(!one.first_difference(one));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::conformance
