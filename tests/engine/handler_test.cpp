// Error handlers: what they see, what they do in a node's place, and what a crash leaves of them.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Logs which node failed, with what.
state_update log_failure(context& ctx) {
  const auto* failed = ctx.failure();
  return log(failed ? failed->node + ": " + failed->failure.type() : "no failure");
}

/// The same, and on to `after`.
command log_failure_and_go_on(context& ctx) {
  command c;
  c.update = log_failure(ctx);
  c.goto_ = "after";
  return c;
}

/// A node that fails each time, counted, with its handler and an edge to `after`.
compiled_graph handled(counter& ran, any_body handler) {
  state_graph<> g{log_only};
  g.add_node("bad",
             [&ran]() -> state_update {
               ++ran;
               throw std::out_of_range{"boom"};
             },
             {.error_handler = std::move(handler)});
  g.add_node("after", [] { return log("after"); });
  g.add_edge(START, "bad");
  g.add_edge("bad", "after");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_handler)

BOOST_AUTO_TEST_CASE(a_handler_is_told_what_failed_and_its_nodes_edges_are_not_taken) {
  counter ran{0};
  std::string text;
  auto handler = [&text](context& ctx) {
    text = ctx.failure()->failure.text();
    return log_failure(ctx);
  };
  runtime rt;
  auto out = rt.load(handled(ran, handler)).invoke({}).value();
  BOOST_TEST(out["log"] == words({"bad: std::out_of_range"}));
  BOOST_TEST(text == "boom");
  BOOST_TEST(ran == 1);
}

BOOST_AUTO_TEST_CASE(a_handler_reads_the_state_as_its_node_did) {
  state_graph<> g{{{"x", last_value}, {"log", append}}};
  g.add_node("bad", []() -> state_update { throw std::runtime_error{"boom"}; },
             {.error_handler = [](const state_view& s, context&) { return log(to_json(s["x"])); }});
  g.add_edge(START, "bad");
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({{"x", 7}}).value()["log"] == words({"7"}));
}

BOOST_AUTO_TEST_CASE(a_handler_runs_when_the_last_attempt_failed_and_not_before) {
  counter ran{0}, handled{0};
  state_graph<> g{log_only};
  g.add_node("bad",
             [&]() -> state_update {
               BOOST_REQUIRE(handled == 0);
               ++ran;
               throw node_error{"ConnectionError", "boom"};
             },
             {.retry_policy = retry_policy{.initial_interval = 0ns, .jitter = false},
              .error_handler = [&handled](context& ctx) {
                ++handled;
                return log_failure(ctx);
              }});
  g.add_edge(START, "bad");
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({}).value()["log"] == words({"bad: ConnectionError"}));
  BOOST_TEST(ran == 3);
  BOOST_TEST(handled == 1);
}

BOOST_AUTO_TEST_CASE(a_default_handler_serves_nodes_without_one_and_no_handlers) {
  state_graph<> g{log_only};
  g.set_node_defaults({.error_handler = log_failure});
  g.add_node("a", []() -> state_update { throw std::out_of_range{"a"}; });
  g.add_node("b", []() -> state_update { throw std::out_of_range{"b"}; },
             {.error_handler = []() -> state_update { throw std::length_error{"handler of b"}; }});
  g.add_edge(START, "a");
  g.add_edge(START, "b");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto how = app.try_invoke({}, {.thread_id = "t"});
  BOOST_REQUIRE((code_of(how) == errc::node_failed));
  BOOST_TEST(how.error().type() == "std::length_error");
}

BOOST_AUTO_TEST_CASE(a_handler_goes_where_its_command_says) {
  counter ran{0};
  runtime rt;
  auto out = rt.load(handled(ran, log_failure_and_go_on)).invoke({}).value();
  BOOST_TEST(out["log"] == words({"bad: std::out_of_range", "after"}));
}

BOOST_AUTO_TEST_CASE(handlers_of_tasks_side_by_side_write_in_the_order_of_these) {
  state_graph<> g{log_only};
  g.add_node("bad",
             [](const value& i) -> state_update {
               throw node_error{"Failure" + std::to_string(i.as_int()), ""};
             },
             {.error_handler = log_failure});
  g.add_node("good", [](const value&) { return log("good"); });
  g.add_conditional_edges(START, [](const state_view&) {
    std::vector<send> out;
    for (int i = 0; i < 5; ++i)
      out.push_back({i == 2 ? "good" : "bad", value(i)});
    return out;
  });
  runtime rt;
  auto app = rt.load(g.compile());
  for (int again = 0; again < 20; ++again)
    BOOST_TEST(
      app.invoke({}).value()["log"]
      == words({"bad: Failure0", "bad: Failure1", "good", "bad: Failure3", "bad: Failure4"}));
}

BOOST_AUTO_TEST_CASE(a_handler_serves_a_node_that_is_a_graph) {
  state_graph<> in{log_only};
  in.add_node("inner", []() -> state_update { throw std::out_of_range{"boom"}; });
  in.add_edge(START, "inner");
  state_graph<> g{log_only};
  g.add_node("graph", in.compile(), {.error_handler = log_failure});
  g.add_edge(START, "graph");
  runtime rt{with_memory()};
  auto out = rt.load(g.compile()).invoke({}, {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == words({"graph: std::out_of_range"}));
}

BOOST_AUTO_TEST_CASE(a_timeout_of_a_node_is_handled_like_any_other_failure) {
  gate hold;
  errc code = errc::ok;
  state_graph<> g{log_only};
  g.add_node("slow", [&hold] { hold.pass(); },
             {.lane = lane::blocking, .timeout = 20ms, .error_handler = [&code](context& ctx) {
                code = ctx.failure()->failure.code();
                return log("handled");
              }});
  g.add_edge(START, "slow");
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({}).value()["log"] == words({"handled"}));
  BOOST_TEST((code == errc::node_timeout));
  hold.open();
}

BOOST_AUTO_TEST_CASE(a_question_is_no_failure) {
  state_graph<> g{log_only};
  g.add_node("asks", [](context& ctx) { return log(ctx.interrupt("?").as<std::string>()); },
             {.error_handler = log_failure});
  g.add_edge(START, "asks");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke({}, {.thread_id = "t"}).interrupts().size() == 1u);
  BOOST_TEST(app.invoke(answer("yes"), {.thread_id = "t"}).value()["log"] == words({"yes"}));
}

// ---- after a crash --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_handler_that_failed_runs_again_with_its_failure_and_its_node_does_not) {
  for (auto durable : {durability::sync, durability::async, durability::exit}) {
    counter ran{0}, handler_ran{0};
    auto handler = [&handler_ran](context& ctx) {
      if (++handler_ran == 1)
        throw std::length_error{"first time"};
      return log_failure_and_go_on(ctx);
    };
    auto store = make_memory_saver();
    run_config config{.thread_id = "t", .durability = durable};
    {
      runtime rt{{.saver = store}};
      auto how = rt.load(handled(ran, handler)).try_invoke({}, config);
      BOOST_REQUIRE((code_of(how) == errc::node_failed));
      BOOST_TEST(how.error().type() == "std::length_error");
    }
    runtime rt{{.saver = store}}; // after a restart
    auto out = rt.load(handled(ran, handler)).invoke(nullptr, config).value();
    BOOST_TEST(out["log"] == words({"bad: std::out_of_range", "after"}));
    BOOST_TEST(ran == 1);
    BOOST_TEST(handler_ran == 2);
  }
}

BOOST_AUTO_TEST_CASE(beside_a_sibling_that_fails_a_handler_runs_once_and_is_kept) {
  for (auto durable : {durability::sync, durability::async, durability::exit}) {
    counter bad{0}, handler_ran{0}, sibling{0};
    state_graph<> g{log_only};
    g.add_node("bad",
               [&bad]() -> state_update {
                 ++bad;
                 throw std::out_of_range{"boom"};
               },
               {.error_handler = [&handler_ran](context& ctx) {
                 ++handler_ran;
                 return log_failure(ctx);
               }});
    g.add_node("sibling", [&sibling] {
      if (++sibling == 1)
        throw std::length_error{"once"};
      return log("sibling");
    });
    g.add_edge(START, "bad");
    g.add_edge(START, "sibling");
    runtime rt{with_memory()};
    auto app = rt.load(g.compile());
    run_config config{.thread_id = "t", .durability = durable};
    auto how = app.try_invoke({}, config);
    BOOST_REQUIRE((code_of(how) == errc::node_failed));
    BOOST_TEST(how.error().type() == "std::length_error");
    BOOST_TEST(app.invoke(nullptr, config).value()["log"]
               == words({"bad: std::out_of_range", "sibling"}));
    BOOST_TEST(bad == 1);
    BOOST_TEST(handler_ran == 1);
    BOOST_TEST(sibling == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_handler_that_asks_pauses_the_run_and_its_answer_comes_to_it) {
  counter ran{0};
  auto handler = [](context& ctx) {
    auto node = ctx.failure()->node;
    return log(node + ": " + ctx.interrupt("what now?").as<std::string>());
  };
  auto store = make_memory_saver();
  {
    runtime rt{{.saver = store}};
    auto paused = rt.load(handled(ran, handler)).invoke({}, {.thread_id = "t"});
    BOOST_REQUIRE(paused.interrupts().size() == 1u);
    BOOST_TEST(paused.interrupts()[0].value == value("what now?"));
  }
  runtime rt{{.saver = store}};
  auto out = rt.load(handled(ran, handler)).invoke(answer("skip"), {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == words({"bad: skip"}));
  BOOST_TEST(ran == 1);
}

// From any stored state at the saver's failure, the thread continues to the same end, and a stored
// failure does not happen again.
BOOST_AUTO_TEST_CASE(wherever_a_crash_cuts_a_handled_failure_the_thread_goes_on_to_the_same_end) {
  int handed_over = 0;
  for (auto durable : {durability::sync, durability::async, durability::exit})
    for (int nth = 1;; ++nth) {
      counter ran{0};
      auto store = make_memory_saver();
      auto fails = std::make_shared<failing_saver>(store, nth);
      run_config config{.thread_id = "t", .durability = durable};
      {
        runtime rt{{.saver = fails}};
        auto how = rt.load(handled(ran, log_failure_and_go_on)).try_invoke({}, config);
        BOOST_TEST((how || code_of(how) == errc::storage_full));
      }
      runtime rt{{.saver = store}};
      auto app = rt.load(handled(ran, log_failure_and_go_on));
      auto state = app.get_state(config);
      bool fresh = state.config.checkpoint_id.empty();
      bool stored = !fresh && !state.tasks.empty() && !state.tasks[0].error.is_null();
      auto ran_before = ran.load();
      auto out = app.invoke(fresh ? run_input{} : run_input{nullptr}, config).value();
      BOOST_TEST(out["log"] == words({"bad: std::out_of_range", "after"}));
      if (stored) {
        ++handed_over;
        BOOST_TEST(ran == ran_before);
      }
      if (!fails->failed())
        break;
    }
  BOOST_TEST(handed_over > 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
