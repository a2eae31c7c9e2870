// Workflows: cached tasks, and the threads that bodies and tasks run on.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace troupe {

BOOST_AUTO_TEST_SUITE(coordinator_workflow_tasks)

// ---- the cache ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_task_with_a_cache_runs_once_for_an_argument_in_all_threads_and_workflows) {
  counter ran{0};
  auto sq = task("square",
                 [&ran](std::int64_t n) {
                   ++ran;
                   return n * n;
                 },
                 {.cache_policy = cache_policy{}});
  auto body = [sq](std::int64_t n, context& ctx) {
    auto a = sq(ctx, n);
    return a.get() + sq(ctx, n).get(); // the second one finds what the first one gave
  };
  runtime rt{{.saver = make_memory_saver(), .cache = make_memory_cache()}};
  auto one = rt.load(entrypoint("one", body)), other = rt.load(entrypoint("other", body));
  BOOST_TEST(one.invoke(value(3), {.thread_id = "a"}).value() == value(18));
  BOOST_TEST(ran == 1);
  BOOST_TEST(one.invoke(value(3), {.thread_id = "b"}).value() == value(18));
  BOOST_TEST(other.invoke(value(3), {.thread_id = "c"}).value() == value(18));
  BOOST_TEST(ran == 1);
  BOOST_TEST(one.invoke(value(4), {.thread_id = "a"}).value() == value(32));
  BOOST_TEST(ran == 2);
  one.clear_cache({"square"}).value(); // a task is forgotten by its name, for all workflows
  BOOST_TEST(other.invoke(value(4), {.thread_id = "b"}).value() == value(32));
  BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(what_a_started_task_gives_from_the_cache_is_streamed_as_cached) {
  auto sq = task("square", [](std::int64_t n) { return n * n; }, {.cache_policy = cache_policy{}});
  auto flow = entrypoint("flow", [sq](std::int64_t n, context& ctx) {
    auto first = sq(ctx, n).get();
    return first + sq(ctx, n).get();
  });
  runtime rt{{.saver = make_memory_saver(), .cache = make_memory_cache()}};
  std::vector<std::string> seen;
  for (const auto& part :
       rt.load(flow).stream(value(3), {.thread_id = "t"}, {stream_mode::updates}))
    seen.push_back(to_json(part.data));
  std::vector<std::string> expected{
    R"({"square":9})", R"({"__metadata__":{"cached":true},"square":9})", R"({"flow":18})"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

// ---- threads --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(more_workflows_than_the_blocking_lane_has_threads_wait_without_a_deadlock) {
  counter ran{0};
  auto leaf = task("square", [&ran](std::int64_t n) {
    ++ran;
    return n * n;
  });
  auto branch = task("branch", [leaf](std::int64_t n, context& ctx) {
    auto a = leaf(ctx, n), b = leaf(ctx, n);
    return a.get() + b.get();
  });
  auto flow = entrypoint("flow", [branch](std::int64_t n, context& ctx) {
    auto a = branch(ctx, n), b = branch(ctx, n);
    return a.get() + b.get();
  });
  runtime rt{{.saver = make_memory_saver(), .blocking_threads = 2}};
  auto app = rt.load(flow);
  std::vector<run_handle> runs;
  for (int i = 0; i < 20; ++i)
    runs.push_back(app.start(value(i), {.thread_id = "t" + std::to_string(i)}));
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(runs[static_cast<std::size_t>(i)].get().value().value() == value(4 * i * i));
  BOOST_TEST(ran == 80);
}

BOOST_AUTO_TEST_CASE(
  more_bodies_than_the_blocking_lane_has_threads_call_graphs_without_a_deadlock) {
  state_graph<> in{{{"n", last_value}}};
  in.add_node("n",
              [](const state_view& s) {
                return state_update{{"n", s["n"].as_int() + 1}};
              },
              {.lane = lane::blocking});
  in.add_edge(START, "n");
  state_graph<> g{{{"n", last_value}}};
  g.add_node("calls",
             [inner = in.compile()](const state_view& s, context& ctx) {
               return ctx.invoke(inner, ctx.invoke(inner, s.to_value()));
             },
             {.lane = lane::blocking});
  g.add_edge(START, "calls");
  runtime rt{{.blocking_threads = 2}};
  auto app = rt.load(g.compile());
  std::vector<run_handle> runs;
  for (int i = 0; i < 20; ++i)
    runs.push_back(app.start({{"n", i}}));
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(runs[static_cast<std::size_t>(i)].get().value().value()["n"] == value(i + 2));
}

BOOST_AUTO_TEST_CASE(a_coroutine_task_may_take_its_arguments_by_reference) {
  auto twice = task("twice", [](const std::string& s, context& ctx) -> coro<std::string> {
    auto elsewhere = ctx.blocking([] {}); // suspends it
    co_await elsewhere;
    co_return s + s;
  });
  auto flow = entrypoint("flow", [twice](const std::string& s, context& ctx) -> coro<std::string> {
    auto f = twice(ctx, s);
    co_return co_await f;
  });
  runtime rt;
  BOOST_TEST(rt.load(flow).invoke(value("a text that is not short at all")).value()
             == value("a text that is not short at alla text that is not short at all"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
