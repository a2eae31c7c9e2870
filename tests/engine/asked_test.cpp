// Bodies that catch what asks their question.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/when_all.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace troupe {
namespace {

using question_body = std::function<value(context&)>;

/// The asker in a body that takes a missing answer for a yes.
value swallow(context& ctx, const question_body& ask) {
  try {
    return ask(ctx);
  } catch (...) {
    return value("yes");
  }
}

value plain_question(context& ctx) {
  return ctx.interrupt("sure?");
}

compiled_graph node_with(question_body body, lane where = lane::standard) {
  state_graph<> g{log_only};
  g.add_node("a", [body](const state_view&, context& ctx) { return log(body(ctx)); },
             {.lane = where});
  g.add_edge(START, "a");
  return g.compile({.name = "asks"});
}

coro<value> swallowing_coroutine(context& ctx) {
  value out("yes");
  try {
    auto pause = ctx.sleep_for(std::chrono::nanoseconds{1});
    co_await pause;
    out = ctx.interrupt("sure?");
  } catch (...) {}
  co_return out;
}

compiled_graph coroutine_node() {
  state_graph<> g{log_only};
  g.add_node("a", [](const state_view&, context& ctx) -> coro<state_update> {
    auto asked = swallowing_coroutine(ctx);
    auto said = co_await asked;
    auto out = log(said);
    co_return out;
  });
  g.add_edge(START, "a");
  return g.compile();
}

void check_refused(const compiled_graph& graph, const std::string& node = "a") {
  runtime rt{with_memory()};
  auto app = rt.load(graph);
  auto how = app.try_invoke(value::map(), {.thread_id = "t"});
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::invalid_graph));
  BOOST_TEST(how.error().message()
             == "node `" + node
                  + "`: its body asked a question and returned: do not catch what interrupt throws "
                    "(a catch (...) around it must throw it again)");
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_asked)

BOOST_AUTO_TEST_CASE(a_plain_body_that_caught_its_question_fails) {
  auto body = [](context& ctx) { return swallow(ctx, plain_question); };
  check_refused(node_with(body));
  check_refused(node_with(body, lane::blocking));
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_caught_its_question_fails) {
  check_refused(coroutine_node());
}

BOOST_AUTO_TEST_CASE(a_body_that_caught_the_question_of_a_graph_it_ran_fails) {
  auto inner = node_with(plain_question);
  check_refused(node_with(
    [inner](context& ctx) {
      return swallow(ctx, [&inner](context& c) { return c.invoke(inner, value::map()); });
    },
    lane::blocking));
}

BOOST_AUTO_TEST_CASE(a_workflow_that_caught_its_question_fails) {
  check_refused(entrypoint("flow",
                           [](const value&, context& ctx) { return swallow(ctx, plain_question); }),
                "flow");
}

BOOST_AUTO_TEST_CASE(a_workflow_that_caught_the_question_of_its_task_fails) {
  auto asks = task("asks", [](const value&, context& ctx) { return ctx.interrupt("sure?"); });
  check_refused(entrypoint("flow",
                           [asks](const value&, context& ctx) {
                             return swallow(ctx,
                                            [&asks](context& c) { return asks(c, value{}).get(); });
                           }),
                "flow");
}

BOOST_AUTO_TEST_CASE(a_task_that_caught_its_question_fails) {
  auto asks = task("asks", [](const value&, context& ctx) { return swallow(ctx, plain_question); });
  check_refused(entrypoint("flow",
                           [asks](const value&, context& ctx) { return asks(ctx, value{}).get(); }),
                "asks");
}

BOOST_AUTO_TEST_CASE(a_route_that_caught_its_question_fails) {
  state_graph<> g{log_only};
  g.add_node("a", [](const state_view&) { return log("a"); });
  g.add_edge(START, "a");
  g.add_conditional_edges("a", [](const state_view&, context& ctx) {
    (void)swallow(ctx, plain_question);
    return END;
  });
  check_refused(g.compile());
}

BOOST_AUTO_TEST_CASE(a_failure_after_a_swallowed_question_keeps_its_own_text) {
  runtime rt{with_memory()};
  auto app = rt.load(node_with([](context& ctx) -> value {
    (void)swallow(ctx, plain_question);
    throw node_error{"Refused", "no"};
  }));
  auto how = app.try_invoke(value::map(), {.thread_id = "t"});
  BOOST_REQUIRE(!how);
  BOOST_TEST(how.error().type() == "Refused");
}

BOOST_AUTO_TEST_CASE(a_body_that_throws_it_again_asks) {
  runtime rt{with_memory()};
  int cleaned = 0;
  auto app = rt.load(node_with([&cleaned](context& ctx) {
    try {
      return ctx.interrupt("sure?");
    } catch (...) {
      ++cleaned;
      throw;
    }
  }));
  auto paused = app.invoke(value::map(), {.thread_id = "t"});
  BOOST_TEST(paused.interrupts().size() == 1u);
  BOOST_TEST(cleaned == 1);
  BOOST_TEST(app.invoke(answer("ok"), {.thread_id = "t"}).value()["log"] == words({"ok"}));
}

BOOST_AUTO_TEST_CASE(a_body_that_catches_exceptions_of_the_standard_library_asks) {
  runtime rt{with_memory()};
  auto app = rt.load(node_with([](context& ctx) {
    try {
      return ctx.interrupt("sure?");
    } catch (const std::exception&) {
      return value("caught");
    }
  }));
  BOOST_TEST(app.invoke(value::map(), {.thread_id = "t"}).paused());
  BOOST_TEST(app.invoke(answer("ok"), {.thread_id = "t"}).value()["log"] == words({"ok"}));
}

BOOST_AUTO_TEST_CASE(an_answered_question_may_stand_within_any_catch) {
  runtime rt{with_memory()};
  auto app = rt.load(node_with([](context& ctx) {
    auto given = ctx.interrupt("sure?");
    return swallow(ctx, [&given](context&) { return given; });
  }));
  BOOST_TEST(app.invoke(value::map(), {.thread_id = "t"}).paused());
  BOOST_TEST(app.invoke(answer("ok"), {.thread_id = "t"}).value()["log"] == words({"ok"}));
}

BOOST_AUTO_TEST_CASE(coroutines_side_by_side_may_ask) {
  state_graph<> g{log_only};
  g.add_node("a", [](const state_view&, context& ctx) -> coro<state_update> {
    auto one = [](context& c, bool asks) -> coro<value> {
      value out = asks ? c.interrupt("sure?") : value("quiet");
      co_return out;
    };
    std::vector<coro<value>> parts;
    parts.push_back(one(ctx, false));
    parts.push_back(one(ctx, true));
    auto both = when_all(std::move(parts));
    auto said = co_await both;
    auto out = log(said[1]);
    co_return out;
  });
  g.add_edge(START, "a");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke(value::map(), {.thread_id = "t"}).interrupts().size() == 1u);
  BOOST_TEST(app.invoke(answer("ok"), {.thread_id = "t"}).value()["log"] == words({"ok"}));
}

BOOST_AUTO_TEST_CASE(a_workflow_may_end_without_the_answer_of_a_task_it_did_not_wait_for) {
  auto asks = task("asks", [](const value&, context& ctx) { return ctx.interrupt("sure?"); });
  runtime rt{with_memory()};
  auto app = rt.load(entrypoint("flow", [asks](const value&, context& ctx) {
    (void)asks(ctx, value{});
    return value("done");
  }));
  BOOST_TEST(app.invoke(value(1), {.thread_id = "t"}).value() == value("done"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
