// The bounds of what a runtime keeps between runs, at them and past them.
#include "coordinator/stream_log.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe {

BOOST_AUTO_TEST_SUITE(coordinator_limits)

BOOST_AUTO_TEST_CASE(a_thread_keeps_its_newest_parts) {
  thread_log log;
  auto append = [&log] {
    stream_part part;
    log.append(part);
    return part.seq;
  };
  for (std::size_t i = 1; i <= limits::stream_log_parts_max; ++i)
    BOOST_REQUIRE(append() == i);
  BOOST_TEST(log.parts_after(0).value().size() == limits::stream_log_parts_max);
  append();
  BOOST_TEST((log.parts_after(0).error().code() == errc::missing_key));
  auto rest = log.parts_after(1).value();
  BOOST_TEST(rest.size() == limits::stream_log_parts_max);
  BOOST_TEST(rest.front().seq == 2u);
}

BOOST_AUTO_TEST_CASE(the_parts_of_the_threads_used_last_are_kept_and_those_of_a_run_that_is_on) {
  stream_log all;
  auto name = [](std::size_t i) { return "t" + std::to_string(i); };
  auto running = all.of("running");
  running->open();
  for (std::size_t i = 1; i < limits::stream_log_threads_max; ++i)
    all.of(name(i));
  BOOST_TEST((all.find(name(1)) != nullptr));
  all.of("one more");
  BOOST_TEST((all.find(name(1)) == nullptr));
  BOOST_TEST((all.find(name(2)) != nullptr));
  BOOST_TEST((all.find("running") == running));
  running->close();
}

BOOST_AUTO_TEST_CASE(the_parts_of_ended_runs_are_dropped_by_their_bytes_the_oldest_first) {
  stream_log all;
  const value half(std::string(limits::stream_log_bytes_max / 2 + 1, 'x'));
  auto run = [&all](const std::string& thread_id, const value& data) {
    auto log = all.of(thread_id);
    log->open();
    stream_part part;
    part.data = data;
    log->append(part);
    return log;
  };
  run("a", half)->close();
  auto running = run("running", half); // does not count yet
  run("b", half)->close();
  BOOST_TEST((all.find("a") != nullptr));
  run("c", half)->close(); // of a and b, only the newer one stays
  BOOST_TEST((all.find("a") == nullptr));
  BOOST_TEST((all.find("b") != nullptr));
  running->close(); // counts now
  all.of("next");
  BOOST_TEST((all.find("running") == nullptr));
  BOOST_TEST((all.find("b") == nullptr));
  BOOST_TEST((all.find("c") != nullptr));
}

BOOST_AUTO_TEST_CASE(a_log_above_the_bound_whose_thread_runs_again_drops_no_other) {
  stream_log all;
  auto run = [&all](const std::string& thread_id, std::size_t bytes) {
    auto log = all.of(thread_id);
    log->open();
    stream_part part;
    part.data = value(std::string(bytes, 'x'));
    log->append(part);
    log->close();
  };
  run("small", 1);
  run("large", limits::stream_log_bytes_max + 1);
  all.of("large");
  BOOST_TEST((all.find("small") != nullptr));
  all.of("next");
  BOOST_TEST((all.find("small") == nullptr)); // the oldest first
  BOOST_TEST((all.find("large") == nullptr));
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_log_that_are_not_measured_count_as_the_others_do) {
  stream_log all;
  std::vector<value> items(1000, value(std::string(100, 'x')));
  const auto large = value::list(std::move(items)); // a few of these are more than is looked at
  auto log = all.of("large");
  log->open();
  for (std::size_t i = 0; i < limits::stream_log_parts_max; ++i) {
    stream_part part;
    part.data = large;
    log->append(part);
  }
  log->close();
  all.of("next");
  BOOST_TEST((all.find("large") == nullptr));
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_no_more_idle_groups_than_the_bound) {
  gate hold;
  state_graph<> g{{{"x", last_value}}};
  g.add_node("n", [&hold](const state_view&, context& ctx) -> coro<state_update> {
    auto job = ctx.blocking([&hold] { hold.pass(); });
    co_await job;
    co_return state_update{};
  });
  g.add_edge(START, "n");
  const auto runs = limits::pooled_groups_max + 8;
  runtime rt{{.blocking_threads = runs}};
  auto app = rt.load(g.compile());
  auto coordinators = [&rt] {
    std::size_t out = 0;
    for (const auto& a : rt.actors())
      out += a.kind == "run";
    return out;
  };
  std::vector<run_handle> all;
  for (std::size_t i = 0; i < runs; ++i)
    all.push_back(app.start({}));
  hold.wait_for(static_cast<int>(limits::blocking_threads_max)); // no more threads than that
  auto safety = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (coordinators() < runs && std::chrono::steady_clock::now() < safety)
    std::this_thread::yield(); // a run gets its group when the scheduler turns to it
  BOOST_TEST(coordinators() == runs);
  hold.open();
  for (auto& run : all)
    run.get().value();
  while (coordinators() > limits::pooled_groups_max && std::chrono::steady_clock::now() < safety)
    std::this_thread::yield(); // the others end by themselves
  BOOST_TEST(coordinators() <= limits::pooled_groups_max);
}

BOOST_AUTO_TEST_CASE(runs_that_wait_for_a_thread_hold_no_group) {
  gate hold;
  state_graph<> g{{{"x", last_value}}};
  g.add_node("n", [&hold](const state_view&) { hold.pass(); });
  g.add_edge(START, "n");
  runtime rt{{.worker_threads = 1}};
  auto app = rt.load(g.compile());
  auto coordinators = [&rt] {
    auto all = rt.actors();
    return std::ranges::count_if(all, [](const actor_info& a) { return a.kind == "run"; });
  };
  std::vector<run_handle> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(app.start({}));
  hold.wait_for(1); // it holds the only thread
  BOOST_TEST(coordinators() == 1);
  BOOST_TEST(all.back().actors().empty());
  hold.open();
  for (auto& run : all)
    run.get().value();
  BOOST_TEST(coordinators() == 1); // they ran one after another
}

BOOST_AUTO_TEST_CASE(bodies_of_more_runs_than_groups_are_kept_wait_for_runs_of_their_graph) {
  state_graph<> g{{{"depth", last_value}}};
  std::optional<app<>> self;
  g.add_node("n",
             [&self](const state_view& state) {
               auto depth = state["depth"].as_int();
               if (depth > 0)
                 self->start(value::map({{"depth", depth - 1}})).get().value();
             },
             {.lane = lane::blocking});
  g.add_edge(START, "n");
  const auto runs = limits::pooled_groups_max + 8;
  runtime rt{{.worker_threads = 1, .blocking_threads = 2 * runs}};
  self = rt.load(g.compile());
  std::vector<run_handle> all;
  for (std::size_t i = 0; i < runs; ++i)
    all.push_back(self->start(value::map({{"depth", 1}})));
  for (auto& run : all)
    BOOST_TEST(run.get().value().value()["depth"] == value(1));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
