// Attempts at a task: when it is tried again, when it is given up, and that what a given-up attempt
// still does has no effect.
#include "tasks/attempts.hpp"

#include "tasks/task_scope.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
namespace data = boost::unit_test::data;

error connection_lost() {
  return {errc::node_failed, "node `n` failed", "ConnectionError"};
}

retry_policy at_once(std::uint32_t attempts = 3) {
  return {.initial_interval = 0ns, .max_attempts = attempts, .jitter = false};
}

/// Where the body runs, or the graph it is.
enum class place { standard, blocking, coroutine, graph };
constexpr place all_places[] = {place::standard, place::blocking, place::coroutine, place::graph};
std::ostream& operator<<(std::ostream& out, place p) {
  constexpr const char* names[] = {"standard", "blocking", "coroutine", "graph"};
  return out << names[static_cast<int>(p)];
}

/// A node that runs `body` on its place. A coroutine runs it as a job of the blocking lane.
void add_node(state_graph<>& g, const std::string& name, place where, node_options options,
              std::function<state_update(context&)> body) {
  switch (where) {
    case place::graph: {
      state_graph<> in{{{"log", append}}};
      in.add_node("inner", [body](const state_view&, context& ctx) { return body(ctx); },
                  {.lane = lane::blocking});
      in.add_edge(START, "inner");
      return g.add_node(name, in.compile(), std::move(options));
    }
    case place::coroutine:
      return g.add_node(
        name,
        [body](const state_view&, context& ctx) -> coro<state_update> {
          auto job = ctx.blocking([body, &ctx] { return body(ctx); });
          auto out = co_await job;
          co_return out;
        },
        std::move(options));
    default:
      options.lane = where == place::blocking ? lane::blocking : lane::standard;
      g.add_node(
        name, [body](const state_view&, context& ctx) { return body(ctx); }, std::move(options));
  }
}

/// One node "n" between START and END.
compiled_graph one_node(place where, node_options options,
                        std::function<state_update(context&)> body) {
  state_graph<> g{{{"log", append}}};
  add_node(g, "n", where, std::move(options), std::move(body));
  g.add_edge(START, "n");
  return g.compile();
}

/// Signals to the time-out of an attempt again and again that the body continues, for several times
/// its length. False when this thread was held up so long that the time-out was right.
template <class Beat> bool beats(nanoseconds idle, Beat beat) {
  auto begin = steady_clock::now(), last = begin;
  while (last - begin < 3 * idle) {
    beat();
    auto now = steady_clock::now();
    if (now - last > idle / 2)
      return false;
    last = now;
    std::this_thread::yield();
  }
  return true;
}

/// The remaining thread of control when a body holds it for good: it ends when asked to stop.
template <class Busy> void until_stopped(context& ctx, Busy busy) {
  auto safety = steady_clock::now() + 60s;
  while (!ctx.stop_requested() && steady_clock::now() < safety) {
    busy();
    std::this_thread::yield();
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(tasks_attempts)

// ---- how long to wait -----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(waits_grow_by_the_factor_up_to_the_longest) {
  retry_policy policy{.initial_interval = 100ms,
                      .backoff_factor = 3.0,
                      .max_interval = 1s,
                      .max_attempts = 6,
                      .jitter = false};
  const std::vector<nanoseconds> expected{100ms, 300ms, 900ms, 1s, 1s};
  for (std::uint32_t attempt = 1; attempt < 6; ++attempt)
    BOOST_TEST((retry_delay(policy, attempt, connection_lost(), 0.9) == expected[attempt - 1]));
  BOOST_TEST((retry_delay(policy, 6, connection_lost(), 0.9) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(by_default_there_are_three_attempts_with_half_a_second_doubled_between) {
  retry_policy policy{.jitter = false};
  BOOST_TEST((retry_delay(policy, 1, connection_lost(), 0) == nanoseconds{500ms}));
  BOOST_TEST((retry_delay(policy, 2, connection_lost(), 0) == nanoseconds{1s}));
  BOOST_TEST((retry_delay(policy, 3, connection_lost(), 0) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(jitter_adds_up_to_a_second_also_to_the_longest_wait) {
  retry_policy policy{.initial_interval = 2s, .max_interval = 2s, .max_attempts = 99};
  for (double random : {0.0, 0.25, 0.999}) {
    auto extra = nanoseconds{static_cast<std::int64_t>(random * 1e9)};
    BOOST_TEST((retry_delay(policy, 50, connection_lost(), random) == 2s + extra));
  }
}

BOOST_AUTO_TEST_CASE(waits_of_any_policy_are_finite_and_not_negative) {
  for (double factor : {-3.0, 0.0, 1e300})
    for (std::uint32_t attempt : {1u, 2u, 1000u, 4'000'000'000u}) {
      retry_policy policy{
        .backoff_factor = factor, .max_attempts = 4'294'967'295u, .jitter = false};
      auto wait = retry_delay(policy, attempt, connection_lost(), 0);
      BOOST_REQUIRE(wait.has_value());
      BOOST_TEST((*wait >= 0ns && *wait <= 128s));
    }
  retry_policy backwards{.initial_interval = -1s, .max_interval = -2s, .jitter = false};
  BOOST_TEST((retry_delay(backwards, 1, connection_lost(), 0) == 0ns));
}

BOOST_AUTO_TEST_CASE(the_first_policy_that_fits_decides_and_attempts_count_for_all) {
  retry_policy policy{
    .initial_interval = 1s, .max_attempts = 2, .jitter = false, .retry_on = {"KeyError"}};
  policy.otherwise.push_back(
    {.initial_interval = 2s, .max_attempts = 4, .jitter = false, .retry_on = {"ConnectionError"}});
  policy.otherwise.push_back(
    {.initial_interval = 3s, .max_attempts = 9, .jitter = false, .retry_on = {"ConnectionError"}});
  error key{errc::node_failed, "", "KeyError"}, other{errc::node_failed, "", "ValueError"};
  BOOST_TEST((retry_delay(policy, 1, key, 0) == nanoseconds{1s}));
  BOOST_TEST((retry_delay(policy, 1, connection_lost(), 0) == nanoseconds{2s}));
  BOOST_TEST((retry_delay(policy, 2, key, 0) == std::nullopt));
  BOOST_TEST((retry_delay(policy, 3, connection_lost(), 0) == nanoseconds{8s}));
  BOOST_TEST((retry_delay(policy, 4, connection_lost(), 0) == std::nullopt));
  BOOST_TEST((retry_delay(policy, 1, other, 0) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(no_policy_and_one_attempt_try_nothing_again) {
  BOOST_TEST((retry_delay(no_retry_policy, 1, connection_lost(), 0) == std::nullopt));
  BOOST_TEST((retry_delay(at_once(1), 1, connection_lost(), 0) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(by_default_what_the_caller_or_the_store_did_wrong_is_not_tried_again) {
  auto again = [](errc code, const char* type = "") {
    return retry_delay(at_once(), 1, {code, "", type}, 0).has_value();
  };
  for (const char* type : {"ValueError", "TypeError", "RuntimeError", "OSError", "KeyError",
                           "std::runtime_error", "std::out_of_range"})
    BOOST_TEST(!again(errc::node_failed, type), type);
  for (const char* type : {"ConnectionError", "MyOwnError", "std::bad_alloc"})
    BOOST_TEST(again(errc::node_failed, type), type);
  BOOST_TEST(again(errc::node_timeout));
  for (auto code : {errc::storage_full, errc::storage_failed, errc::checkpoint_corrupt,
                    errc::runtime_stopped, errc::no_saver})
    BOOST_TEST(!again(code), to_string(code));
}

struct out_of_stock : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct busy : std::exception {};

// How often a node that throws `thrown` runs.
template <class E> int attempts_at(E thrown, const retry_filter& retry_on = {}) {
  state_graph<> g{schema{{"n", last_value}}};
  int attempts = 0;
  auto policy = at_once(2);
  policy.retry_on = retry_on;
  g.add_node("n",
             [&attempts, thrown](const state_view&) -> value {
               ++attempts;
               throw thrown;
             },
             {.retry_policy = policy});
  g.add_edge(START, "n");
  runtime rt;
  (void)rt.load(g.compile()).try_invoke({});
  return attempts;
}

BOOST_AUTO_TEST_CASE(by_default_an_exception_counts_as_the_standard_class_it_is_derived_from) {
  auto system_error = [](std::errc code) { return std::system_error{make_error_code(code)}; };
  BOOST_TEST(attempts_at(std::runtime_error{"x"}) == 1);
  BOOST_TEST(attempts_at(out_of_stock{"x"}) == 1);
  BOOST_TEST(attempts_at(std::invalid_argument{"x"}) == 1);
  BOOST_TEST(attempts_at(std::underflow_error{"x"}) == 1);
  BOOST_TEST(attempts_at(std::ios_base::failure{"x"}) == 1);
  BOOST_TEST(attempts_at(system_error(std::errc::permission_denied)) == 1);
  BOOST_TEST(attempts_at(std::bad_optional_access{}) == 1);
  BOOST_TEST(attempts_at(system_error(std::errc::connection_refused)) == 2);
  BOOST_TEST(attempts_at(busy{}) == 2);
  BOOST_TEST(attempts_at(std::bad_alloc{}) == 2);
  BOOST_TEST(attempts_at(5) == 2);
}

BOOST_AUTO_TEST_CASE(a_class_of_the_reference_in_retry_on_stands_for_those_derived_from_it) {
  BOOST_TEST(attempts_at(out_of_stock{"x"}, {"RuntimeError"}) == 2);
  BOOST_TEST(attempts_at(out_of_stock{"x"}, {"ValueError"}) == 1);
  BOOST_TEST(attempts_at(std::runtime_error{"x"}, {"std::runtime_error"}) == 2);
  BOOST_TEST(attempts_at(std::out_of_range{"x"}, {"LookupError"}) == 2);
  BOOST_TEST(attempts_at(node_error{"ConnectionResetError", "x"}, {"OSError"}) == 2);
  BOOST_TEST(attempts_at(node_error{"OSError", "x"}, {"ConnectionError"}) == 1);
  BOOST_TEST(attempts_at(node_error{"OutOfStock", "x"}, {"Exception"}) == 2);
  retry_filter any{"Exception"};
  BOOST_TEST(!any(error{errc::storage_failed, "x"}));
}

BOOST_AUTO_TEST_CASE(retry_on_takes_a_lambda_in_designated_initialisers) {
  node_options options{
    .retry_policy = {.max_attempts = 2, .retry_on = [](const error&) { return true; }}};
  BOOST_TEST(options.retry_policy.retry_on(error{errc::node_failed, "x", "ValueError"}));
}

BOOST_AUTO_TEST_CASE(a_run_that_is_to_stop_is_not_tried_again_whatever_the_policy_is_for) {
  auto policy = at_once();
  policy.retry_on = retry_filter{[](const error&) { return true; }};
  BOOST_TEST((retry_delay(policy, 1, {errc::node_failed, ""}, 0) == 0ns));
  for (auto code : {errc::graph_drained, errc::cancelled})
    BOOST_TEST((retry_delay(policy, 1, {code, ""}, 0) == std::nullopt), to_string(code));
}

BOOST_AUTO_TEST_CASE(timeouts_are_told_in_the_words_of_the_reference) {
  BOOST_TEST(timeout_error("n", false, 1500ms, 1502ms).message()
             == "Node 'n' exceeded its run timeout of 1.500s (elapsed: 1.502s).");
  BOOST_TEST(timeout_error("n", true, 20ms, 21ms).message()
             == "Node 'n' exceeded its idle timeout of 0.020s without making progress (elapsed: "
                "0.021s).");
  BOOST_TEST((timeout_error("n", true, 20ms, 21ms).code() == errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(a_timeout_has_its_facts_for_programs) {
  BOOST_TEST(timeout_error("n", false, 1500ms, 2s).details()
             == (value{{"node", "n"}, {"kind", "run"}, {"timeout", 1.5}, {"elapsed", 2.0}}));
  BOOST_TEST(timeout_error("n", true, 1s, 1s).details()["kind"] == value("idle"));
}

// ---- signs of life --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_write_or_a_started_task_is_a_sign_of_life_unless_only_heartbeats_count) {
  auto alive = [](refresh_on by, auto act) {
    auto task = std::make_shared<detail::task_scope>();
    task->run = std::make_shared<run_shared>();
    task->timeout = {0ns, 1h, by};
    context ctx{*task};
    act(ctx);
    return task->progress_ns != 0;
  };
  auto write = [](context& ctx) { ctx.write(value(1)); };
  auto message = [](context& ctx) {
    ctx.stream_message(value::of(troupe::message{.content = "hello"}));
  };
  auto start = [](context& ctx) { task("t", [](int n) { return n; })(ctx, 1); };
  auto beat = [](context& ctx) { ctx.heartbeat(); };
  for (auto by : {refresh_on::auto_, refresh_on::heartbeat}) {
    bool any = by == refresh_on::auto_;
    BOOST_TEST(alive(by, write) == any);
    BOOST_TEST(alive(by, message) == any);
    BOOST_TEST(alive(by, start) == any);
    BOOST_TEST(alive(by, beat));
  }
}

// ---- attempts -------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_failing_task_is_tried_as_often_as_its_policy_says, data::make(all_places),
                     where) {
  counter ran{0};
  runtime rt{{.saver = make_memory_saver()}};
  auto app =
    rt.load(one_node(where, {.retry_policy = at_once(4)}, [&ran](context&) -> state_update {
      throw node_error{"ConnectionError", std::to_string(++ran)};
    }));
  auto how = app.try_invoke({}, {.thread_id = "t"});
  BOOST_REQUIRE((code_of(how) == errc::node_failed));
  BOOST_TEST(how.error().text() == "4"); // the last failure is the one that is reported
  BOOST_TEST(ran == 4);
}

BOOST_DATA_TEST_CASE(a_task_that_works_at_its_last_attempt_leaves_nothing_of_those_before,
                     data::make(all_places), where) {
  counter ran{0};
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(one_node(where, {.retry_policy = at_once(3)}, [&ran](context&) {
    if (++ran < 3)
      throw node_error{"ConnectionError", "again"};
    return log("attempt " + std::to_string(ran));
  }));
  auto out = app.invoke({}, {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == words({"attempt 3"}));
}

BOOST_AUTO_TEST_CASE(a_body_sees_which_attempt_it_is_and_when_the_first_one_began) {
  std::vector<std::chrono::system_clock::time_point> began;
  auto before = std::chrono::system_clock::now();
  runtime rt;
  auto app =
    rt.load(one_node(place::standard, {.retry_policy = at_once(3)}, [&began](context& ctx) {
      began.push_back(ctx.node_first_attempt_time());
      BOOST_TEST(ctx.node_attempt() == began.size());
      if (ctx.node_attempt() < 3)
        throw node_error{"ConnectionError", "again"};
      return log("done");
    }));
  app.invoke({});
  BOOST_REQUIRE(began.size() == 3u);
  BOOST_TEST((began[0] >= before));
  BOOST_TEST((began[1] == began[0] && began[2] == began[0]));
}

BOOST_AUTO_TEST_CASE(a_question_is_not_tried_again_and_its_answer_serves_all_attempts) {
  counter ran{0};
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(one_node(place::standard, {.retry_policy = at_once(3)}, [&ran](context& ctx) {
    ++ran;
    auto given = ctx.interrupt("?");
    if (ctx.node_attempt() < 3)
      throw node_error{"ConnectionError", "again"};
    return log(given.as<std::string>());
  }));
  BOOST_TEST(app.invoke({}, {.thread_id = "t"}).interrupts().size() == 1u);
  BOOST_TEST(ran == 1);
  BOOST_TEST(app.invoke(answer("yes"), {.thread_id = "t"}).value()["log"] == words({"yes"}));
  BOOST_TEST(ran == 4);
}

// ---- out of time ----------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_task_that_runs_too_long_or_does_nothing_too_long_is_given_up,
                     data::make(all_places) * data::make({false, true}), where, idle) {
  gate hold;
  {
    runtime rt{{.saver = make_memory_saver()}};
    auto bound = idle ? timeout_policy{0ns, 20ms} : timeout_policy{20ms};
    auto app = rt.load(one_node(where, {.timeout = bound}, [&hold](context&) {
      hold.pass();
      return log("late");
    }));
    auto how = app.try_invoke({}, {.thread_id = "t"});
    hold.open();
    BOOST_REQUIRE((code_of(how) == errc::node_timeout));
    auto told = std::string{"Node 'n' exceeded its "} + (idle ? "idle" : "run") + " timeout";
    BOOST_TEST(how.error().message().find(told) == 0u);
    BOOST_TEST(app.get_state({.thread_id = "t"}).next.at(0) == "n");
  }
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_sleeps_too_long_is_given_up) {
  state_graph<> g{{{"log", append}}};
  g.add_node("n",
             [](const state_view&, context& ctx) -> coro<state_update> {
               co_await ctx.sleep_for(1h);
               co_return state_update{};
             },
             {.timeout = 20ms});
  g.add_edge(START, "n");
  runtime rt;
  BOOST_TEST((code_of(rt.load(g.compile()).try_invoke({})) == errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(a_task_that_keeps_within_its_time_is_not_disturbed) {
  runtime rt;
  for (auto where : all_places) {
    auto app = rt.load(
      one_node(where, {.timeout = timeout_policy{1h, 1h}}, [](context&) { return log("done"); }));
    BOOST_TEST(app.invoke({}).value()["log"] == words({"done"}));
  }
}

BOOST_DATA_TEST_CASE(heartbeats_and_writes_keep_a_task_from_being_given_up_as_idle,
                     data::make({place::standard, place::blocking, place::coroutine})
                       * data::make({false, true}),
                     where, writes) {
  const nanoseconds idle = 100ms;
  std::atomic<bool> undisturbed{true};
  auto body = [&undisturbed, writes, idle](context& ctx) {
    undisturbed = beats(idle, [&ctx, writes] { writes ? ctx.write(value(1)) : ctx.heartbeat(); });
    return log("done");
  };
  runtime rt;
  auto how = rt.load(one_node(where, {.timeout = {0ns, idle}}, body)).try_invoke({});
  if (undisturbed) // else this machine was too busy to tell
    BOOST_TEST((code_of(how) == errc::ok));
}

BOOST_AUTO_TEST_CASE(with_heartbeats_only_a_task_that_writes_is_given_up_as_idle) {
  auto body = [](context& ctx) {
    until_stopped(ctx, [&ctx] { ctx.write(value(1)); });
    return log("late");
  };
  runtime rt;
  auto how =
    rt.load(one_node(place::blocking, {.timeout = {0ns, 20ms, refresh_on::heartbeat}}, body))
      .try_invoke({});
  BOOST_TEST((code_of(how) == errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(a_task_that_shows_signs_of_life_still_ends_with_its_run_timeout) {
  auto body = [](context& ctx) {
    until_stopped(ctx, [&ctx] { ctx.heartbeat(); });
    return log("late");
  };
  runtime rt;
  auto how = rt.load(one_node(place::blocking, {.timeout = {30ms, 1h}}, body)).try_invoke({});
  BOOST_REQUIRE((code_of(how) == errc::node_timeout));
  BOOST_TEST(how.error().message().find("run timeout") != std::string::npos);
}

// ---- what a given-up attempt still does -----------------------------------------------------

// The first attempt is held until the second one has answered, then writes and streams; the next
// node waits until it has.
BOOST_DATA_TEST_CASE(late_writes_and_late_parts_of_a_given_up_attempt_have_no_effect,
                     data::make(all_places), where) {
  gate hold, late;
  std::atomic<bool> told{false};
  state_graph<> g{{{"log", append}}};
  add_node(g, "n", where, {.retry_policy = at_once(2), .timeout = 20ms}, [&](context& ctx) {
    if (hold.came() > 0) {
      ctx.write(value("second"));
      return log("second");
    }
    hold.pass();
    told = ctx.stop_requested();
    ctx.write(value("late"));
    late.open();
    return log("late");
  });
  g.add_node("behind",
             [&] {
               hold.open();
               late.pass();
             },
             {.lane = lane::blocking});
  for (int i = 0; i < 20; ++i) { // a chance for the late answer to arrive while the run is on
    auto name = "after" + std::to_string(i);
    g.add_node(name, [] {}, {.lane = lane::blocking});
    g.add_edge(i == 0 ? "behind" : "after" + std::to_string(i - 1), name);
  }
  g.add_edge(START, "n");
  g.add_edge("n", "behind");
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(g.compile());
  run_config config{.thread_id = "t", .recursion_limit = 100, .subgraphs = true};
  std::vector<std::string> parts;
  auto stream = app.stream({}, config, {stream_mode::custom});
  while (auto part = stream.next())
    parts.push_back(to_json(part->data));
  BOOST_TEST(parts == std::vector<std::string>{R"("second")"}, boost::test_tools::per_element());
  BOOST_REQUIRE((stream.outcome() != nullptr));
  BOOST_TEST(stream.outcome()->value()["log"] == words({"second"}));
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["log"] == words({"second"}));
  BOOST_TEST(told);
}

// Its run is over, and in the second case so are the actors of its run.
BOOST_DATA_TEST_CASE(a_given_up_attempt_starts_no_task_and_calls_no_graph_any_more,
                     data::make({false, true}), actors_gone) {
  gate hold, late;
  counter started{0};
  std::vector<errc> codes;
  auto counts = task("counts", [&started](int n) {
    ++started;
    return n;
  });
  state_graph<> in{{{"log", append}}};
  in.add_node("inner", [&started] { ++started; });
  in.add_edge(START, "inner");
  auto try_it = [&codes](auto act) {
    try {
      act();
      codes.push_back(errc::ok);
    } catch (const error& e) {
      codes.push_back(e.code());
    }
  };
  {
    runtime rt{{.saver = make_memory_saver()}};
    auto body = [&, inner = in.compile()](context& ctx) {
      hold.pass();
      try_it([&] { counts(ctx, 1).get(); });
      try_it([&] { ctx.invoke(inner); });
      late.open();
      return log("late");
    };
    auto app = rt.load(one_node(place::blocking, {.timeout = 20ms}, body));
    BOOST_TEST((code_of(app.try_invoke({}, {.thread_id = "t"})) == errc::node_timeout));
    auto safety = steady_clock::now() + 60s;
    while (actors_gone && rt.actors().size() > 1 && steady_clock::now() < safety)
      std::this_thread::yield();
    hold.open();
    late.pass();
  }
  BOOST_REQUIRE(codes.size() == 2u);
  BOOST_TEST((codes[0] == errc::cancelled));
  BOOST_TEST((codes[1] == errc::cancelled));
  BOOST_TEST(started == 0);
}

// The attempt was given up, its run is not over: the second attempt runs the same graph.
BOOST_AUTO_TEST_CASE(a_given_up_attempt_does_not_run_a_graph_beside_the_next_attempt) {
  gate hold, late;
  counter started{0};
  state_graph<> in{{{"log", append}}};
  in.add_node("inner", [&started] { ++started; });
  in.add_edge(START, "inner");
  errc code = errc::ok;
  auto body = [&, inner = in.compile()](context& ctx) {
    if (ctx.node_attempt() == 2)
      hold.open();
    else
      hold.pass();
    if (ctx.node_attempt() == 2) {
      late.pass();
      ctx.invoke(inner);
      return log("second");
    }
    try {
      ctx.invoke(inner);
    } catch (const error& e) {
      code = e.code();
    }
    late.open();
    return log("late");
  };
  runtime rt{{.saver = make_memory_saver()}};
  auto app =
    rt.load(one_node(place::blocking, {.retry_policy = at_once(2), .timeout = 20ms}, body));
  // The second attempt may run out of time as well, on a busy machine.
  auto how = app.try_invoke({}, {.thread_id = "t"});
  late.pass();
  BOOST_TEST((code == errc::cancelled));
  BOOST_TEST(started <= 1);
}

// ---- sends ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_send_may_bring_a_timeout_of_its_own) {
  gate hold;
  state_graph<> g{{{"log", append}}};
  g.add_node("w",
             [&hold](const value& i, context&) {
               if (i == value(1))
                 hold.pass();
               return state_update{{"log", value::list({i})}};
             },
             {.lane = lane::blocking, .timeout = 1h, .error_handler = [](context& ctx) {
                return log(std::string{to_string(ctx.failure()->failure.code())});
              }});
  g.add_conditional_edges(START, [](const state_view&) {
    return std::vector<send>{{"w", value(0)}, {"w", value(1), 20ms}, {"w", value(2)}};
  });
  runtime rt{{.saver = make_memory_saver()}};
  auto out = rt.load(g.compile()).invoke({}, {.thread_id = "t"}).value();
  hold.open();
  BOOST_TEST(to_json(out["log"]) == R"([0,"node_timeout",2])");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
