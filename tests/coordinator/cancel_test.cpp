// Runs that are given up: cancelled, out of time, or with a saver that never answers. They end at
// once in any wait, and their thread continues later.
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
namespace data = boost::unit_test::data;

/// Holds the second of three nodes while its run is given up; `released` lets a body go that no one
/// can interrupt. Later runs wait for nothing.
struct held_run {
  gate hold;
  std::atomic<bool> first{true};
  std::atomic<bool> told{false};
  gate left; ///< open when the held body ended
  counter behind_inner{0};

  bool holds() { return first.exchange(false); }
  void wait(context& ctx) {
    if (!holds())
      return;
    hold.pass();
    told = ctx.stop_requested();
    left.open();
  }
};

/// The wait of `b` in a → b → c.
enum class waits_for { body, sleep, job, task, graph, called_graph, retry, handler };
constexpr waits_for all_waits[] = {waits_for::body,  waits_for::sleep,  waits_for::job,
                                   waits_for::task,  waits_for::graph,  waits_for::called_graph,
                                   waits_for::retry, waits_for::handler};
std::ostream& operator<<(std::ostream& out, waits_for w) {
  constexpr const char* names[] = {"body",  "sleep",        "job",   "task",
                                   "graph", "called graph", "retry", "handler"};
  return out << names[static_cast<int>(w)];
}

/// Whether a body of the run is held in the gate then.
bool holds_a_body(waits_for w) {
  return w != waits_for::sleep && w != waits_for::retry;
}

compiled_graph holding_graph(held_run& held) {
  state_graph<> g{log_only};
  g.add_node("inner", [&held](const state_view&, context& ctx) { held.wait(ctx); },
             {.lane = lane::blocking});
  g.add_node("inner behind", [&held] { ++held.behind_inner; });
  g.add_edge(START, "inner");
  g.add_edge("inner", "inner behind");
  return g.compile();
}

void add_b(state_graph<>& g, held_run& held, waits_for what) {
  auto b = [] { return log("b"); };
  switch (what) {
    case waits_for::body:
      return g.add_node("b",
                        [&held, b](const state_view&, context& ctx) {
                          held.wait(ctx);
                          return b();
                        },
                        {.lane = lane::blocking});
    case waits_for::sleep:
      return g.add_node("b", [&held](const state_view&, context& ctx) -> coro<state_update> {
        if (held.holds()) {
          held.left.open();
          co_await ctx.sleep_for(1h);
        }
        auto out = log("b");
        co_return out;
      });
    case waits_for::job:
      return g.add_node("b", [&held](const state_view&, context& ctx) -> coro<state_update> {
        auto job = ctx.blocking([&held, &ctx] { held.wait(ctx); });
        co_await job;
        auto out = log("b");
        co_return out;
      });
    case waits_for::task: {
      auto waits = task("waits", [&held](int, context& ctx) { held.wait(ctx); });
      return g.add_node("b",
                        [waits, b](context& ctx) {
                          waits(ctx, 1).get();
                          return b();
                        },
                        {.lane = lane::blocking});
    }
    case waits_for::graph: return g.add_node("b", holding_graph(held));
    case waits_for::called_graph:
      return g.add_node("b",
                        [inner = holding_graph(held), b](context& ctx) {
                          ctx.invoke(inner);
                          return b();
                        },
                        {.lane = lane::blocking});
    case waits_for::retry:
      return g.add_node("b",
                        [&held, b](const state_view&) {
                          if (held.holds()) {
                            held.left.open();
                            throw node_error{"ConnectionError", "again in an hour"};
                          }
                          return b();
                        },
                        {.retry_policy = retry_policy{.initial_interval = 1h, .max_interval = 1h}});
    case waits_for::handler:
      return g.add_node("b", []() -> state_update { throw std::runtime_error{"boom"}; },
                        {.lane = lane::blocking, .error_handler = [&held](context& ctx) {
                           held.wait(ctx);
                           command c;
                           c.update = log("b");
                           c.goto_ = "c";
                           return c;
                         }});
  }
}

compiled_graph a_b_c(held_run& held, waits_for what, counter& c_ran) {
  state_graph<> g{log_only};
  g.add_node("a", [] { return log("a"); });
  add_b(g, held, what);
  g.add_node("c", [&c_ran] {
    ++c_ran;
    return log("c");
  });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", "c");
  return g.compile();
}

/// The log at the end of a resumed run. A graph outputs its input.
value whole_log(waits_for what) {
  return what == waits_for::graph ? words({"a", "a", "c"}) : words({"a", "b", "c"});
}

/// Waits until the run is in the middle of `b`.
void reach_b(held_run& held, waits_for what) {
  if (holds_a_body(what))
    held.hold.wait_for(1);
  else
    held.left.pass();
}

/// Lets what is still held go.
void let_go(held_run& held, waits_for what) {
  held.hold.open();
  held.left.pass();
  if (holds_a_body(what))
    BOOST_TEST(held.told);
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_cancel)

// ---- cancel ---------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_cancelled_run_ends_at_once_whatever_it_waits_for_and_goes_on_later,
                     data::make(all_waits) * data::make({false, true}), what, lends_a_thread) {
  held_run held;
  counter c_ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(a_b_c(held, what, c_ran));
  run_control control;
  run_config config{.thread_id = "t", .control = control};
  std::optional<result<run_result>> how;
  if (lends_a_thread) {
    std::thread caller{[&] { how = app.try_invoke({}, config); }};
    reach_b(held, what);
    control.cancel();
    caller.join();
  } else {
    auto run = app.start({}, config);
    reach_b(held, what);
    control.cancel();
    how = run.get();
  }
  BOOST_TEST((code_of(*how) == errc::cancelled)); // though the awaited body still runs
  let_go(held, what);
  BOOST_TEST(c_ran == 0);
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["log"] == words({"a"}));
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == whole_log(what));
  BOOST_TEST(held.behind_inner <= 1); // an inner run that was given up goes no further
  BOOST_TEST(c_ran == 1);
}

// Steps that were whole are stored, and the tasks that had finished beside the cancelled one.
BOOST_DATA_TEST_CASE(a_cancelled_run_with_durability_exit_stores_its_last_step,
                     data::make(all_waits), what) {
  held_run held;
  counter c_ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(a_b_c(held, what, c_ran));
  run_control control;
  auto run = app.start({}, {.thread_id = "t", .durability = durability::exit, .control = control});
  reach_b(held, what);
  control.cancel();
  BOOST_TEST((code_of(run.get()) == errc::cancelled));
  let_go(held, what);
  auto state = app.get_state({.thread_id = "t"});
  BOOST_TEST(state.values["log"] == words({"a"}));
  BOOST_TEST(state.next == std::vector<std::string>{"b"}, boost::test_tools::per_element());
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == whole_log(what));
  BOOST_TEST(c_ran == 1);
}

BOOST_AUTO_TEST_CASE(a_stream_of_a_cancelled_run_gives_what_there_was_and_then_the_error) {
  held_run held;
  counter c_ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(a_b_c(held, waits_for::body, c_ran));
  run_control control;
  auto parts = app.stream({}, {.thread_id = "t", .control = control});
  BOOST_TEST(to_json(parts.next()->data) == R"({"a":{"log":["a"]}})");
  std::thread canceller{[&] {
    held.hold.wait_for(1);
    control.cancel();
  }};
  auto last = parts.try_next();
  canceller.join();
  BOOST_REQUIRE(!last);
  BOOST_TEST((last.error().code() == errc::cancelled));
  BOOST_TEST((parts.outcome() == nullptr));
  let_go(held, waits_for::body);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_cancelled_before_it_begins_runs_nothing) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([&ran](const auto&) { ++ran; }));
  run_control control;
  control.cancel();
  run_config config{.thread_id = "t", .control = control};
  BOOST_TEST((code_of(app.try_invoke({}, config)) == errc::cancelled));
  BOOST_TEST((code_of(app.start({}, config).get()) == errc::cancelled));
  BOOST_TEST(ran == 0);
}

BOOST_AUTO_TEST_CASE(to_cancel_a_run_that_has_ended_changes_nothing) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  run_control control;
  auto run = app.start({}, {.thread_id = "t", .control = control});
  BOOST_TEST((code_of(run.get()) == errc::ok));
  control.cancel();
  control.cancel();
  BOOST_TEST((code_of(run.get()) == errc::ok));
  BOOST_TEST((code_of(app.try_invoke({}, {.thread_id = "t"})) == errc::ok));
}

BOOST_AUTO_TEST_CASE(one_control_cancels_all_the_runs_it_was_given_to_and_no_others) {
  gate hold;
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([&hold](const auto&) { hold.pass(); }, lane::blocking));
  run_control control;
  std::vector<run_handle> runs;
  for (int i = 0; i < 8; ++i)
    runs.push_back(app.start({}, {.thread_id = "t" + std::to_string(i), .control = control}));
  auto other = app.start({}, {.thread_id = "other"});
  hold.wait_for(9);
  control.cancel();
  for (auto& run : runs)
    BOOST_TEST((code_of(run.get()) == errc::cancelled));
  BOOST_TEST(!other.ready());
  hold.open();
  BOOST_TEST((code_of(other.get()) == errc::ok));
}

BOOST_AUTO_TEST_CASE(a_body_may_cancel_its_own_run) {
  run_control control;
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([&](const std::string& node) {
    ++ran;
    if (node == "b")
      control.cancel();
  }));
  auto how = app.try_invoke({}, {.thread_id = "t", .control = control});
  BOOST_TEST((code_of(how) == errc::cancelled));
  BOOST_TEST(ran == 2);
}

// ---- deadlines ------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_run_out_of_time_ends_at_once_whatever_it_waits_for_and_goes_on_later,
                     data::make(all_waits) * data::make({false, true}), what, of_a_step) {
  held_run held;
  counter c_ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(a_b_c(held, what, c_ran));
  run_config config{.thread_id = "t"};
  (of_a_step ? config.step_timeout : config.run_timeout) = 50ms;
  auto how = app.try_invoke({}, config);
  BOOST_TEST((code_of(how) == errc::node_timeout));
  if (!held.first) { // it got as far as `b`
    let_go(held, what);
    BOOST_TEST(c_ran == 0);
  }
  held.hold.open();
  bool fresh = app.get_state({.thread_id = "t"}).config.checkpoint_id.empty();
  app.invoke(fresh ? run_input{} : run_input{nullptr}, {.thread_id = "t"});
  BOOST_TEST(c_ran == 1);
}

// ---- a saver that never answers -------------------------------------------------------------

namespace {

/// Takes requests, and answers from the nth on only when told.
class silent_saver : public forwarding_saver {
public:
  silent_saver(std::shared_ptr<saver> inner, int nth)
    : forwarding_saver{std::move(inner)},
      left_{nth} {}
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (--left_ > 0)
      return forwarding_saver::submit(std::move(request), when, std::move(done));
    std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(done));
    asked.open();
  }
  /// Answers all, late.
  void speak() {
    std::lock_guard lock{mutex_};
    for (auto& done : std::exchange(waiting_, {}))
      done({});
  }
  gate asked;

private:
  std::atomic<int> left_;
  std::mutex mutex_;
  std::vector<std::function<void(result<void>)>> waiting_;
};

} // namespace

BOOST_DATA_TEST_CASE(a_run_whose_saver_never_answers_can_be_cancelled,
                     data::xrange(1, 6) * data::make({false, true}), nth, sync) {
  auto store = std::make_shared<silent_saver>(make_memory_saver(), nth);
  runtime rt{{.saver = store}};
  auto app = rt.load(three_nodes([](const auto&) {}));
  run_control control;
  auto durable = sync ? durability::sync : durability::async;
  auto run = app.start({}, {.thread_id = "t", .durability = durable, .control = control});
  store->asked.pass();
  control.cancel();
  BOOST_TEST((code_of(run.get()) == errc::cancelled));
  store->speak();
}

// ---- ends of runtimes -----------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_runtime_that_ends_ends_its_runs_whatever_they_wait_for,
                     data::make(all_waits), what) {
  held_run held;
  counter c_ran{0};
  auto rt = std::make_unique<runtime>(with_memory());
  auto app = rt->load(a_b_c(held, what, c_ran));
  auto run = app.start({}, {.thread_id = "t"});
  reach_b(held, what);
  std::thread opener{[&] {
    BOOST_TEST((code_of(run.get()) == errc::runtime_stopped)); // the runtime waits for the body
    held.hold.open();
  }};
  rt.reset();
  opener.join();
  BOOST_TEST(c_ran == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
