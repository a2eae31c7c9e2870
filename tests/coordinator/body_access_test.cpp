// The access of a body to its run: the state beside a send, the modes of readers, graphs from
// blocking jobs.
#include <troupe/agents/messages.hpp>
#include <troupe/runtime.hpp>
#include <troupe/when_all.hpp>

#include <boost/test/unit_test.hpp>

#include <mutex>

#include <string>
#include <vector>

namespace troupe {
namespace {

const schema two_channels{{"messages", add_messages}, {"n", last_value}, {"left", remaining_steps}};

value seen_by_sent_task(bool graph_state) {
  state_graph<> g{two_channels};
  g.add_conditional_edges(START, [] { return send{"look", value(7)}; }, {"look"});
  g.add_node("look",
             [](const value& sent, context& ctx) {
               auto seen = ctx.graph_state().to_value();
               return value{{"n", value::list({sent, seen})}};
             },
             {.graph_state = graph_state});
  runtime rt;
  return rt.load(g.compile()).invoke(value{{"n", 1}}).value()["n"];
}

compiled_graph doubling() {
  state_graph<> g{{{"n", last_value}}};
  g.add_node("double", [](const state_view& s) { return value{{"n", s["n"].as_int() * 2}}; });
  g.add_edge(START, "double");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_body_access)

BOOST_AUTO_TEST_CASE(a_sent_task_reads_the_state_of_its_graph_when_its_node_says_so) {
  BOOST_TEST(seen_by_sent_task(true)
             == value::list({7, value{{"messages", value::list()}, {"n", 1}}}));
  BOOST_TEST(seen_by_sent_task(false) == value::list({7, value::map()}));
}

BOOST_AUTO_TEST_CASE(a_route_sees_the_ids_that_messages_are_stored_with) {
  state_graph<> g{two_channels};
  g.add_node("say", [] { return value{{"messages", value::list({ai_message("hi")})}}; });
  g.add_node("look", [](const value& sent) { return value{{"n", sent}}; });
  g.add_edge(START, "say");
  g.add_conditional_edges("say",
                          [](const state_view& s) {
                            return send{"look", message_member(s["messages"][0], "id")};
                          },
                          {"look"});
  runtime rt;
  auto out = rt.load(g.compile()).invoke({}).value();
  BOOST_TEST(out["n"].is_string());
  BOOST_TEST(message_member(out["messages"][0], "id") == out["n"]);
}

BOOST_AUTO_TEST_CASE(
  a_coroutine_that_writes_more_than_the_reader_s_queue_holds_does_not_wait_for_it) {
  state_graph<> g{two_channels};
  g.add_node("write", [](const state_view&, context& ctx) -> coro<value> {
    for (int i = 0; i < 20; ++i)
      ctx.write(value(i));
    co_return value{{"n", 20}};
  });
  g.add_edge(START, "write");
  runtime rt;
  stream_options options{stream_mode::custom};
  options.queue_parts_max = 4;
  auto parts = rt.load(g.compile()).stream({}, {}, options);
  int seen = 0;
  while (auto part = parts.next())
    BOOST_TEST(part->data == value(seen++));
  BOOST_TEST(seen == 20);
}

BOOST_AUTO_TEST_CASE(a_body_knows_who_reads_and_speaks_to_readers_of_tools) {
  state_graph<> g{two_channels};
  auto body = [](const state_view&, context& ctx) {
    ctx.stream_tool_event(value{{"event", "x"}});
    return value{{"n", ctx.is_streaming(stream_mode::tools)}};
  };
  g.add_node("tell", body);
  g.add_node("quiet", body, {.metadata = {{"tags", value::list({"nostream"})}}});
  g.add_edge(START, "tell");
  g.add_edge("tell", "quiet");
  runtime rt;
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke({}).value()["n"] == value(false));
  auto parts = app.stream({}, {}, {stream_mode::tools});
  std::vector<value> seen;
  while (auto part = parts.next())
    seen.push_back(part->data);
  BOOST_TEST(value::list(seen) == value::list({value{{"event", "x"}}}));
  BOOST_TEST(parts.outcome()->value()["n"] == value(true));
}

BOOST_AUTO_TEST_CASE(what_a_run_is_configured_with_is_read_in_every_body_of_it) {
  std::vector<std::string> seen;
  std::mutex guard;
  auto look = [&](const std::string& who, const context& ctx) {
    std::lock_guard lock{guard};
    seen.push_back(who + to_json(ctx.configurable()));
  };
  auto leaf = [&](std::string name) {
    state_graph<> g{log_only};
    g.add_node("n", [look, name](const state_view&, context& ctx) { look(name, ctx); });
    g.add_edge(START, "n");
    return g.compile({.name = name});
  };
  auto step = task("step", [look](const value&, context& ctx) { look("task", ctx); });
  auto flow = entrypoint("flow", [look, step](const value& in, context& ctx) {
    look("flow", ctx);
    step(ctx, in).get();
  });
  state_graph<> g{log_only};
  g.add_node("node",
             [look, flow, called = leaf("called")](const state_view&, context& ctx) {
               look("node", ctx);
               ctx.invoke(called, value::map());
               ctx.invoke(flow, value(1));
             },
             {.lane = lane::blocking});
  g.add_node("sub", leaf("sub"));
  g.add_edge(START, "node");
  g.add_edge("node", "sub");
  runtime rt;
  auto app = rt.load(g.compile());
  app.invoke(value::map(), {.configurable = value{{"user", value{{"id", 7}}}}});
  const std::string all = R"({"user":{"id":7}})";
  std::vector<std::string> expected{"node" + all, "called" + all, "flow" + all, "task" + all,
                                    "sub" + all};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
  seen.clear();
  rt.load(leaf("bare")).invoke(value::map());
  BOOST_TEST(seen == (std::vector<std::string>{"barenull"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_blocking_job_of_a_coroutine_may_run_a_graph) {
  auto inner = doubling();
  state_graph<> g{two_channels};
  g.add_node("outer", [inner](const state_view&, context& ctx) -> coro<value> {
    auto job = ctx.blocking([&] { return ctx.invoke(inner, value{{"n", 4}}); });
    auto out = co_await job;
    co_return value{{"n", out["n"]}};
  });
  g.add_edge(START, "outer");
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({}).value()["n"] == value(8));
}

// ---- several coroutines at once -------------------------------------------------------------

BOOST_AUTO_TEST_CASE(answers_of_several_coroutines_stand_in_their_order) {
  state_graph<> g{two_channels};
  g.add_node("all", [](const state_view&, context& ctx) -> coro<value> {
    auto wait = [&ctx](int n) -> coro<int> {
      auto job = ctx.blocking([n] { return n; });
      auto out = co_await job;
      co_return out;
    };
    std::vector<coro<int>> parts;
    for (int i = 0; i < 5; ++i)
      parts.push_back(wait(i));
    auto together = when_all(std::move(parts));
    auto answers = co_await together;
    co_return value{{"n", value::of(answers)}};
  });
  g.add_edge(START, "all");
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({}).value()["n"] == value::list({0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(the_first_coroutine_that_failed_speaks_for_all_when_all_have_ended) {
  int ended = 0;
  auto part = [&ended](int n) -> coro<int> {
    ++ended;
    if (n > 0)
      throw node_error{"ValueError", std::to_string(n)};
    co_return n;
  };
  std::vector<coro<int>> parts;
  for (int i = 0; i < 3; ++i)
    parts.push_back(part(i));
  auto together = when_all(std::move(parts));
  together.start();
  BOOST_REQUIRE(together.done());
  BOOST_CHECK_EXCEPTION(together.take(), node_error,
                        [](const node_error& e) { return std::string{e.what()} == "1"; });
  BOOST_TEST(ended == 3);
}

BOOST_AUTO_TEST_CASE(no_coroutines_at_all_give_no_answers) {
  auto together = when_all(std::vector<coro<int>>{});
  together.start();
  BOOST_TEST(together.take().empty());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
