// Threads whose run was cut off: which they are, and that they resume.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <map>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using thread_ids = std::vector<std::string>;

/// The saver of a process that is killed: after so many requests nothing arrives any more. Does not
/// say that its runtime is there: it is gone for everybody who looks.
class dying_saver : public forwarding_saver {
public:
  dying_saver(std::shared_ptr<saver> inner, int requests)
    : forwarding_saver{std::move(inner)},
      left_{requests} {}
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    bool counts = request.put || !request.writes.empty();
    if (left_ <= 0 || (counts && left_-- <= 0))
      return done(error{errc::storage_failed, "the process was killed"});
    forwarding_saver::submit(std::move(request), when, std::move(done));
  }

private:
  std::atomic<int> left_;
};

struct fixture {
  std::shared_ptr<saver> checkpoints = make_memory_saver();
  std::map<std::string, int> ran;

  compiled_graph graph() {
    return three_nodes([this](const std::string& node) { ++ran[node]; });
  }
  static run_config on(std::string thread, durability how = durability::sync) {
    return {.thread_id = std::move(thread), .durability = how};
  }
  /// Runs a thread until its process is killed.
  void cut_off(const compiled_graph& g, const std::string& thread, int requests,
               const run_input& input = value{{"log", value::list()}}) {
    runtime rt{{.saver = std::make_shared<dying_saver>(checkpoints, requests)}};
    BOOST_TEST((code_of(rt.load(g).try_invoke(input, on(thread))) == errc::storage_failed));
  }
  thread_ids unfinished(const compiled_graph& g, const unfinished_query& which = {}) {
    runtime rt{{.saver = checkpoints}};
    return rt.load(g).unfinished(which);
  }
};

/// START → ask → after; `ask` asks.
compiled_graph asking() {
  state_graph<> g{log_only};
  g.add_node("ask", [](context& ctx) { return log(ctx.interrupt(value("?"))); });
  g.add_node("after", [](const state_view&) { return log(value("after")); });
  g.add_edge(START, "ask");
  g.add_edge("ask", "after");
  return g.compile({.name = "asking"});
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(engine_unfinished, fixture)

BOOST_AUTO_TEST_CASE(runs_that_were_cut_off_go_on_and_nothing_that_was_stored_runs_again) {
  auto g = graph();
  for (int requests = 1; requests <= 4; ++requests) { // the input, START, a, b
    ran.clear();
    auto thread = "t" + std::to_string(requests);
    cut_off(g, thread, requests);
    runtime rt{{.saver = checkpoints}};
    auto app = rt.load(g);
    auto resumed = app.resume_unfinished(on("ignored"));
    BOOST_TEST_REQUIRE(resumed.size() == 1U);
    BOOST_TEST(resumed[0].thread_id == thread);
    auto out = resumed[0].run.get().value();
    BOOST_TEST(out.value()["log"] == words({"a", "b", "c"}));
    for (const auto& [node, times] : ran) // what was being stored at that moment was lost
      BOOST_TEST(times == (node == std::string{" abc"[requests - 1]} ? 2 : 1));
    BOOST_TEST(app.unfinished().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_thread_that_waits_for_somebody_is_not_unfinished) {
  runtime rt{{.saver = checkpoints}};
  auto three = graph();
  auto ask = asking();
  state_graph<> broken{log_only};
  broken.add_node("a", [](const state_view&) -> value { throw std::runtime_error{"no"}; });
  broken.add_edge(START, "a");
  auto fails = broken.compile();
  state_graph<> endless{log_only};
  endless.add_node("a", [](const state_view&) { return value{}; });
  endless.add_edge(START, "a");
  endless.add_edge("a", "a");
  auto loops = endless.compile();
  int n = 0;
  for (auto how : {durability::sync, durability::async, durability::exit}) {
    auto id = [&n] { return "t" + std::to_string(++n); };
    auto input = value{{"log", value::list()}};
    rt.load(three).invoke(input, on(id(), how));
    BOOST_TEST(rt.load(ask).invoke(input, on(id(), how)).paused());
    auto before = on(id(), how), behind = on(id(), how);
    before.interrupt_before = {"b"};
    behind.interrupt_after = {"b"};
    BOOST_TEST(rt.load(three).invoke(input, before).paused());
    BOOST_TEST(rt.load(three).invoke(input, behind).paused());
    BOOST_TEST((code_of(rt.load(fails).try_invoke(input, on(id(), how))) == errc::node_failed));
    BOOST_TEST((code_of(rt.load(loops).try_invoke(input, on(id(), how))) == errc::graph_recursion));
    auto updated = id();
    rt.load(three).update_state(on(updated), log(value("x")), "a");
    rt.load(three).update_state(on(updated), log(value("y")), "b");
  }
  for (const auto& g : {three, ask, fails, loops}) {
    BOOST_TEST(rt.load(g).unfinished().empty());
    BOOST_TEST(unfinished(g).empty()); // another process, later
  }
  BOOST_TEST(checkpoints->threads().value().size() == static_cast<std::size_t>(n));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_cancelled_is_not_unfinished_and_one_that_was_drained_is) {
  for (bool cancels : {true, false}) {
    gate held;
    auto g = three_nodes(
      [&held](const std::string& node) {
        if (node == "b")
          held.pass();
      },
      lane::blocking);
    auto thread = std::string{cancels ? "cancelled" : "drained"};
    {
      runtime rt{{.saver = checkpoints}};
      run_control control;
      auto config = on(thread);
      config.control = control;
      auto run = rt.load(g).start(value{{"log", value::list()}}, config);
      held.wait_for(1);
      BOOST_TEST(rt.load(g).unfinished().empty()); // it is on
      BOOST_TEST(unfinished(g).empty());           // and another process sees that
      cancels ? control.cancel() : control.request_drain();
      if (cancels)
        static_cast<void>(run.get());
      held.open();
      static_cast<void>(run.get());
    }
    BOOST_TEST((unfinished(g) == (cancels ? thread_ids{} : thread_ids{thread})));
    if (!cancels) {
      runtime rt{{.saver = checkpoints}};
      for (auto& resumed : rt.load(g).resume_unfinished())
        BOOST_TEST(resumed.run.get().value().value()["log"] == words({"a", "b", "c"}));
      BOOST_TEST(rt.load(g).unfinished().empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_run_of_a_runtime_that_ends_is_unfinished) {
  gate held;
  auto g = three_nodes(
    [&held](const std::string& node) {
      if (node == "b")
        held.pass();
    },
    lane::blocking);
  {
    runtime rt{{.saver = checkpoints}};
    rt.load(g).start(value{{"log", value::list()}}, on("t"));
    held.wait_for(1);
    held.open();
  }
  auto left = unfinished(g);
  auto log = runtime{{.saver = checkpoints}}.load(g).get_state(on("t")).values["log"];
  BOOST_TEST((left.empty() == (log == words({"a", "b", "c"})))); // it may have been fast enough
}

BOOST_AUTO_TEST_CASE(threads_of_another_graph_are_not_this_ones) {
  auto g = graph();
  cut_off(g, "three", 2);
  BOOST_TEST((unfinished(g) == thread_ids{"three"}));
  BOOST_TEST(unfinished(asking()).empty());
}

BOOST_AUTO_TEST_CASE(before_its_first_step_a_thread_is_known_by_its_metadata_alone) {
  auto g = graph();
  for (auto of : {"one", "two"}) {
    runtime rt{{.saver = std::make_shared<dying_saver>(checkpoints, 1)}};
    auto config = on(of);
    config.metadata = value{{"graph", of}};
    BOOST_TEST(!rt.load(g).try_invoke(value{{"log", value::list()}}, config));
  }
  BOOST_TEST((unfinished(g) == thread_ids{"one", "two"}));
  BOOST_TEST((unfinished(g, {.filter = value{{"graph", "two"}}}) == thread_ids{"two"}));
  BOOST_TEST(unfinished(g, {.filter = value{{"graph", "three"}}}).empty());
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_stored_and_not_heard_is_heard) {
  auto g = asking();
  {
    runtime rt{{.saver = checkpoints}};
    rt.load(g).invoke(value{{"log", value::list()}}, on("t"));
  }
  BOOST_TEST(unfinished(g).empty());
  cut_off(g, "t", 1, answer(value("yes"))); // the answer is stored, nothing after it
  BOOST_TEST((unfinished(g) == thread_ids{"t"}));
  runtime rt{{.saver = checkpoints}};
  auto resumed = rt.load(g).resume_unfinished();
  BOOST_TEST_REQUIRE(resumed.size() == 1U);
  BOOST_TEST(resumed[0].run.get().value().value()["log"] == words({"yes", "after"}));
}

BOOST_AUTO_TEST_CASE(a_call_that_makes_no_sense_changes_nothing_about_it) {
  auto g = graph();
  cut_off(g, "t", 2);
  runtime rt{{.saver = checkpoints}};
  auto app = rt.load(g);
  auto wrong = answer(value::map({{std::string(32, 'a'), 1}})); // of no question
  BOOST_TEST((code_of(app.try_invoke(wrong, on("t"))) == errc::unknown_interrupt));
  BOOST_TEST((app.unfinished() == thread_ids{"t"}));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_cut_off_at_a_compiled_breakpoint_waits_there) {
  state_graph<> g{log_only};
  g.add_node("a", [](const state_view&) { return log(value("a")); });
  g.add_node("b", [](const state_view&) { return log(value("b")); });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  auto stops = g.compile({.interrupt_before = {"b"}});
  {
    runtime rt{{.saver = std::make_shared<dying_saver>(checkpoints, 3)}}; // a is stored
    BOOST_TEST(!rt.load(stops).try_invoke(value{{"log", value::list()}}, on("t")));
  }
  BOOST_TEST(unfinished(stops).empty());
}

BOOST_AUTO_TEST_CASE(where_nobody_can_tell_who_lives_one_has_to_say_so) {
  auto g = graph();
  cut_off(g, "t", 2);
  runtime rt{{.saver = std::make_shared<forwarding_saver>(checkpoints)}};
  auto refused = rt.load(g).try_unfinished();
  BOOST_TEST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::invalid_config));
  BOOST_TEST(refused.error().message().find("alone") != std::string::npos);
  BOOST_TEST((rt.load(g).unfinished({.alone = true}) == thread_ids{"t"}));
}

BOOST_AUTO_TEST_CASE(without_a_saver_there_is_nothing_to_look_at) {
  runtime rt;
  auto refused = rt.load(graph()).try_unfinished();
  BOOST_TEST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::no_saver));
}

BOOST_AUTO_TEST_CASE(a_thread_at_rest_goes_on_as_ever) {
  auto ask = asking();
  runtime one{{.saver = checkpoints}}, other{{.saver = checkpoints}};
  one.load(ask).invoke(value{{"log", value::list()}}, on("t"));
  auto out = other.load(ask).invoke(answer(value("yes")), on("t"));
  BOOST_TEST(out.value()["log"] == words({"yes", "after"}));
  one.load(ask).invoke(value{{"log", value::list()}}, on("t"));
  one.load(ask).update_state(on("t"), log(value("by hand")), "ask");
  other.load(ask).update_state(on("t"), log(value("again")), "after");
  BOOST_TEST(other.load(ask).unfinished().empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
