// Runs within runs: graphs as nodes and graphs that bodies call, their state, questions, commands,
// time travel and ends.
#include "tests/coordinator/nested_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

/// A graph of one node that returns `c`.
compiled_graph sends_up(command c, std::string name) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("up", [c] { return c; });
  g.add_node("behind", [] { BOOST_ERROR("the command ends this graph"); });
  g.add_edge(START, "up");
  g.add_edge("up", "behind");
  return g.compile({.name = std::move(name)});
}

command to_graph(std::string graph, state_update update, destinations to) {
  command c;
  c.graph = std::move(graph);
  c.update = std::move(update);
  c.goto_ = std::move(to);
  return c;
}

/// `calls` runs the graph three times and puts out what each run gave.
void add_three_calls(state_graph<>& g, const compiled_graph& inner, holds way) {
  if (way == holds::awaits)
    return g.add_node("calls", [inner](const state_view&, context& ctx) -> coro<state_update> {
      std::vector<value> all;
      for (int i = 0; i < 3; ++i) {
        auto run = ctx.run(inner, {{"steps", 10 * i}});
        all.push_back(co_await run);
      }
      state_update out;
      out.set("answers", value::list(std::move(all)));
      co_return out;
    });
  g.add_node("calls",
             [inner](context& ctx) {
               std::vector<value> out;
               for (int i = 0; i < 3; ++i)
                 out.push_back(ctx.invoke(inner, {{"steps", 10 * i}}));
               return state_update{{"answers", value::list(std::move(out))}};
             },
             {.lane = lane::blocking});
}

/// Runs itself `n` levels deep.
compiled_graph calls_itself(const std::optional<compiled_graph>& self, holds way) {
  state_graph<> g{{{"n", last_value}}};
  auto down = [](const state_view& s) {
    return run_input{state_update{{"n", s["n"].as_int() - 1}}};
  };
  if (way == holds::invokes)
    g.add_node("down",
               [&self, down](const state_view& s, context& ctx) {
                 return s["n"] == value(0) ? s.to_value() : ctx.invoke(*self, down(s));
               },
               {.lane = lane::blocking});
  else
    g.add_node("down", [&self, down](const state_view& s, context& ctx) -> coro<value> {
      if (s["n"] == value(0))
        co_return s.to_value();
      auto run = ctx.run(*self, down(s));
      auto out = co_await run;
      co_return out;
    });
  g.add_edge(START, "down");
  return g.compile({.name = "deep"});
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_subgraph)

// ---- keys -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_graph_as_a_node_reads_and_writes_the_keys_it_shares_and_no_others) {
  state_graph<> in{{{"x", last_value}, {"own", append}}};
  in.add_node("n", [](const state_view& s) {
    BOOST_TEST(!s.contains("outer"));
    return state_update{{"x", s["x"].as_int() + 1}, {"own", words({"mine"})}};
  });
  in.add_edge(START, "n");
  state_graph<> g{{{"x", last_value}, {"outer", last_value}}};
  g.add_node("before", [] { return state_update{{"x", 1}, {"outer", "kept"}}; });
  g.add_node("inner", in.compile());
  g.add_edge(START, "before");
  g.add_edge("before", "inner");
  runtime rt;
  BOOST_TEST(to_json(rt.load(g.compile()).invoke({}).value()) == R"({"outer":"kept","x":2})");
}

BOOST_AUTO_TEST_CASE(a_reducer_of_the_outer_graph_folds_what_the_inner_one_puts_out) {
  state_graph<> in{{{"log", append}}};
  in.add_node("n", [] { return state_update{{"log", words({"in"})}}; });
  in.add_edge(START, "n");
  runtime rt;
  auto app = rt.load(around({{"log", append}}, "inner", in.compile(), holds::as_node));
  BOOST_TEST(app.invoke({{"log", words({"a"})}}).value()["log"] == words({"a", "a", "in"}));
}

// ---- calls ----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(each_call_of_a_graph_in_one_task_keeps_a_state_of_its_own,
                     data::make({holds::invokes, holds::awaits}), way) {
  counter first{0}, last{0};
  state_graph<> g{{{"answers", append}}};
  add_three_calls(g, asking(first, last), way);
  g.add_edge(START, "calls");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto paused = app.invoke({}, {.thread_id = "t"});
  for (int i = 1; i < 4; ++i) {
    BOOST_TEST(paused.interrupts().size() == 1u);
    BOOST_TEST(first == i);
    paused = app.invoke(answer(value(i)), {.thread_id = "t"});
  }
  BOOST_TEST(first == 3); // none of them twice
  BOOST_TEST(last == 3);
  BOOST_TEST(to_json(paused.value())
             == R"({"answers":[{"steps":3,"x":1},{"steps":13,"x":2},{"steps":23,"x":3}]})");
}

BOOST_AUTO_TEST_CASE(invoke_on_the_standard_lane_is_refused_with_the_node_and_what_to_do) {
  counter ran{0};
  state_graph<> in{{{"x", last_value}}};
  in.add_node("n", [&ran] { ++ran; });
  in.add_edge(START, "n");
  auto inner = in.compile();
  state_graph<> g{{{"x", last_value}}};
  g.add_node("caller", [inner](context& ctx) { ctx.invoke(inner); });
  g.add_edge(START, "caller");
  runtime rt;
  auto how = rt.load(g.compile()).try_invoke({});
  BOOST_REQUIRE((code_of(how) == errc::invalid_graph));
  for (const char* told : {"`caller`", "lane::blocking", "coroutine"})
    BOOST_TEST(how.error().message().find(told) != std::string::npos);
  BOOST_TEST(ran == 0);
}

BOOST_DATA_TEST_CASE(what_an_inner_graph_fails_with_comes_out_of_it, data::make(all_ways), way) {
  state_graph<> in{{{"x", last_value}}};
  in.add_node("bad", [] { throw std::out_of_range{"inside"}; });
  in.add_edge(START, "bad");
  runtime rt{with_memory()};
  auto app = rt.load(around({{"x", last_value}}, "inner", in.compile(), way));
  auto how = app.try_invoke({}, {.thread_id = "t"});
  BOOST_REQUIRE((code_of(how) == errc::node_failed));
  BOOST_TEST(how.error().type() == "std::out_of_range");
  BOOST_TEST(how.error().message().find("`bad`") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_body_can_catch_what_the_graph_it_called_failed_with) {
  state_graph<> in{{{"x", last_value}}};
  in.add_node("bad", [] { throw std::out_of_range{"inside"}; });
  in.add_edge(START, "bad");
  state_graph<> g{{{"x", last_value}}};
  g.add_node("calls",
             [inner = in.compile()](context& ctx) {
               try {
                 ctx.invoke(inner);
               } catch (const error& e) {
                 return state_update{{"x", e.type()}};
               }
               return state_update{{"x", "no error"}};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "calls");
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({}).value()["x"] == value("std::out_of_range"));
}

// ---- commands -------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_command_for_the_parent_is_carried_out_one_graph_further_out,
                     data::make(all_ways), way) {
  auto up = to_graph(command::PARENT, {{"x", "up"}}, "target");
  state_graph<> g{{{"x", last_value}, {"log", append}}};
  add_inner(g, "inner", sends_up(up, "inner graph"), way);
  g.add_node("target", [](const state_view& s) {
    return state_update{{"log", value::list({s["x"]})}};
  });
  g.add_edge(START, "inner");
  runtime rt{with_memory()};
  auto out = rt.load(g.compile()).invoke({{"x", 0}}, {.thread_id = "t"}).value();
  BOOST_TEST(to_json(out) == R"({"log":["up"],"x":"up"})");
}

BOOST_DATA_TEST_CASE(a_command_for_a_graph_by_name_passes_the_graphs_between,
                     data::make(all_ways) * data::make(all_ways), outer_way, inner_way) {
  auto up = to_graph("root graph", {{"x", "up"}}, "target");
  state_graph<> middle{{{"x", last_value}}};
  add_inner(middle, "inner", sends_up(up, "inner graph"), inner_way);
  middle.add_node("target", [] { BOOST_ERROR("a target of the graph between"); });
  middle.add_edge(START, "inner");
  state_graph<> g{{{"x", last_value}, {"log", append}}};
  add_inner(g, "middle", middle.compile({.name = "middle graph"}), outer_way);
  g.add_node("target", [](const state_view& s) {
    return state_update{{"log", value::list({s["x"]})}};
  });
  g.add_edge(START, "middle");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile({.name = "root graph"}));
  auto out = app.invoke({{"x", 0}}, {.thread_id = "t"}).value();
  BOOST_TEST(to_json(out) == R"({"log":["up"],"x":"up"})");
}

BOOST_AUTO_TEST_CASE(a_command_for_a_parent_that_is_not_there_fails_with_its_own_code) {
  runtime rt;
  auto up = to_graph(command::PARENT, {{"x", "up"}}, "target");
  auto how = rt.load(sends_up(up, "root")).try_invoke({});
  BOOST_TEST((code_of(how) == errc::parent_command));
}

// ---- questions ------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_question_two_graphs_down_is_answered_plainly_or_by_its_id,
                     data::make(all_ways) * data::make(all_ways) * data::make({false, true}),
                     outer_way, inner_way, by_id) {
  counter first{0}, last{0};
  auto middle = around(x_and_steps, "inner", asking(first, last), inner_way);
  runtime rt{with_memory()};
  auto app = rt.load(around(x_and_steps, "middle", middle, outer_way));
  auto paused = app.invoke({}, {.thread_id = "t"});
  BOOST_REQUIRE(paused.paused());
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  const auto& question = paused.interrupts()[0];
  BOOST_TEST(question.value == value("x?"));
  value given("yes");
  if (by_id)
    given = value::map({{question.id, "yes"}});
  auto out = app.invoke(answer(given), {.thread_id = "t"}).value();
  BOOST_TEST(to_json(out) == R"({"steps":3,"x":"yes"})");
  BOOST_TEST(first == 1);
  BOOST_TEST(last == 1);
}

BOOST_DATA_TEST_CASE(two_inner_graphs_that_ask_are_answered_one_by_one_by_id, data::make(all_ways),
                     way) {
  counter first{0}, last{0};
  auto inner = asking(first, last);
  state_graph<> g{{{"x", any_value}, {"steps", sum}}};
  for (const char* name : {"left", "right"}) {
    add_inner(g, name, inner, way);
    g.add_edge(START, name);
  }
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  run_config config{.thread_id = "t"};
  auto paused = app.invoke({}, config);
  BOOST_REQUIRE(paused.interrupts().size() == 2u);
  auto left = paused.interrupts()[0].id, right = paused.interrupts()[1].id;
  BOOST_TEST(left != right);
  BOOST_TEST((code_of(app.try_invoke(answer("both?"), config)) == errc::ambiguous_resume));
  auto half = app.invoke(answer(value::map({{right, "r"}})), config);
  BOOST_REQUIRE(half.interrupts().size() == 1u);
  BOOST_TEST(half.interrupts()[0].id == left);
  BOOST_TEST(last == 1);
  auto out = app.invoke(answer(value::map({{left, "l"}})), config).value();
  BOOST_TEST(to_json(out) == R"({"steps":6,"x":"r"})");
  BOOST_TEST(first == 2);
  BOOST_TEST(last == 2);
}

// ---- reading, updating and streaming the inner state -------------------------------------------

BOOST_DATA_TEST_CASE(the_state_of_a_paused_inner_graph_is_read_updated_and_gone_on_with,
                     data::make(all_ways), way) {
  counter first{0}, last{0};
  runtime rt{with_memory()};
  auto app = rt.load(around(x_and_steps, "inner", asking(first, last), way));
  app.invoke({}, {.thread_id = "t"});
  auto state = app.get_state({.thread_id = "t"}, true);
  BOOST_REQUIRE(state.tasks.size() == 1u);
  const auto& task = state.tasks[0];
  BOOST_REQUIRE((task.state != nullptr));
  BOOST_TEST(to_json(task.state->values) == R"({"steps":1})");
  BOOST_TEST(task.state->next == std::vector<std::string>{"ask"}, boost::test_tools::per_element());
  BOOST_TEST(task.state->interrupts.size() == 1u);
  run_config inside{.thread_id = "t", .checkpoint_ns = task.subgraph_ns};
  BOOST_TEST(app.get_state(inside).values == task.state->values);
  app.update_state(inside, state_update{{"steps", 100}});
  BOOST_TEST(app.get_state(inside).values["steps"] == value(101));
  auto out = app.invoke(answer("yes"), {.thread_id = "t"}).value();
  BOOST_TEST(to_json(out) == R"({"steps":103,"x":"yes"})");
  BOOST_TEST(first == 1);
}

BOOST_AUTO_TEST_CASE(the_state_of_a_namespace_no_node_stands_for_is_no_state) {
  counter first{0}, last{0};
  runtime rt{with_memory()};
  auto app = rt.load(around(x_and_steps, "inner", asking(first, last), holds::as_node));
  app.invoke({}, {.thread_id = "t"});
  auto state = app.try_get_state({.thread_id = "t", .checkpoint_ns = "nobody:1"});
  BOOST_REQUIRE(!state);
  BOOST_TEST((state.error().code() == errc::invalid_config));
  BOOST_TEST(state.error().message() == "Subgraph nobody not found");
}

BOOST_DATA_TEST_CASE(parts_of_an_inner_graph_are_streamed_when_asked_for_under_its_namespace,
                     data::make(all_ways), way) {
  counter first{0}, last{0};
  runtime rt{with_memory()};
  auto app = rt.load(around(x_and_steps, "inner", asking(first, last), way));
  for (bool asked : {false, true}) {
    run_config config{.thread_id = asked ? "a" : "b", .subgraphs = asked};
    std::vector<std::string> seen;
    for (const auto& part : app.stream({}, config, {stream_mode::updates}))
      seen.push_back((part.ns.empty() ? "" : part.ns[0].substr(0, part.ns[0].find(':')) + "/")
                     + std::string{part.data.entries()[0].key()});
    auto expected = asked ? std::vector<std::string>{"inner/first", "inner/__interrupt__",
                                                     "__interrupt__"}
                          : std::vector<std::string>{"__interrupt__"};
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
  }
}

// ---- time travel ----------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_run_from_a_checkpoint_of_an_inner_graph_goes_on_there, data::make(all_ways),
                     way) {
  counter first{0}, last{0};
  runtime rt{with_memory()};
  auto app = rt.load(around(x_and_steps, "inner", asking(first, last), way));
  app.invoke({}, {.thread_id = "t"});
  auto ns = app.get_state({.thread_id = "t"}).tasks.at(0).subgraph_ns;
  app.invoke(answer("yes"), {.thread_id = "t"});
  auto history = app.get_state_history({.thread_id = "t", .checkpoint_ns = ns});
  auto before = [&](const std::string& node) {
    auto found = std::find_if(history.begin(), history.end(), [&](const auto& s) {
      return s.next == std::vector<std::string>{node};
    });
    BOOST_REQUIRE((found != history.end()));
    return found->config;
  };
  auto at = before("last");
  auto out = app.invoke(nullptr, {.thread_id = "t",
                                  .checkpoint_id = at.checkpoint_id,
                                  .checkpoint_ns = at.checkpoint_ns});
  BOOST_TEST(to_json(out.value()) == R"({"steps":3,"x":"yes"})");
  BOOST_TEST(first == 1);
  BOOST_TEST(last == 2);
  at = before("ask");
  auto asks = app.invoke(nullptr, {.thread_id = "t",
                                   .checkpoint_id = at.checkpoint_id,
                                   .checkpoint_ns = at.checkpoint_ns});
  BOOST_TEST(asks.interrupts().size() == 1u);
  auto other = app.invoke(answer("no"), {.thread_id = "t"});
  BOOST_TEST(to_json(other.value()) == R"({"steps":3,"x":"no"})");
  BOOST_TEST(first == 1);
  BOOST_TEST(last == 3);
}

// ---- bounds and ends ------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(graphs_nest_as_deep_as_the_bound_and_no_deeper,
                     data::make({holds::invokes, holds::awaits}), way) {
  std::optional<compiled_graph> self;
  self = calls_itself(self, way);
  runtime rt;
  auto app = rt.load(*self);
  auto deepest = static_cast<std::int64_t>(limits::graph_depth_max);
  BOOST_TEST(app.invoke({{"n", deepest}}).value()["n"] == value(0));
  auto how = app.try_invoke({{"n", deepest + 1}});
  BOOST_REQUIRE((code_of(how) == errc::invalid_graph));
  BOOST_TEST(how.error().message().find("graph_depth_max") != std::string::npos);
}

BOOST_DATA_TEST_CASE(an_inner_run_is_stopped_when_the_attempt_around_it_runs_out_of_time,
                     data::make(all_ways), way) {
  gate hold, told;
  counter attempts{0}, stopped{0}, went_on{0};
  state_graph<> in{{{"x", last_value}}};
  in.add_node("holds",
              [&](context& ctx) {
                if (++attempts > 1)
                  return state_update{{"x", "later"}};
                hold.pass();
                stopped += ctx.stop_requested();
                told.open();
                return state_update{{"x", "first"}};
              },
              {.lane = lane::blocking});
  in.add_node("behind", [&went_on] { ++went_on; });
  in.add_edge(START, "holds");
  in.add_edge("holds", "behind");
  node_options options;
  options.timeout = 20ms;
  options.retry_policy = // on a busy machine, later attempts may run out of time, too
    retry_policy{.initial_interval = 0ns, .max_attempts = 1000, .jitter = false};
  runtime rt{with_memory()};
  auto app = rt.load(around({{"x", last_value}}, "inner", in.compile(), way, options));
  auto how = app.try_invoke({}, {.thread_id = "t"});
  hold.open();
  told.pass();
  BOOST_REQUIRE((code_of(how) == errc::ok));
  BOOST_TEST(how->value()["x"] == value("later"));
  BOOST_TEST(stopped == 1);
  BOOST_TEST(attempts >= 2);
  BOOST_TEST(went_on >= 1);
  BOOST_TEST(went_on < attempts); // not of the first one
}

BOOST_DATA_TEST_CASE(an_inner_run_is_stopped_when_the_root_run_is_cancelled, data::make(all_ways),
                     way) {
  gate hold, told;
  counter stopped{0}, went_on{0};
  state_graph<> in{{{"x", last_value}}};
  in.add_node("holds",
              [&](context& ctx) {
                hold.pass();
                stopped += ctx.stop_requested();
                told.open();
              },
              {.lane = lane::blocking});
  in.add_node("behind", [&went_on] { ++went_on; });
  in.add_edge(START, "holds");
  in.add_edge("holds", "behind");
  {
    runtime rt{with_memory()};
    auto app = rt.load(around({{"x", last_value}}, "inner", in.compile(), way));
    run_control control;
    auto run = app.start({}, {.thread_id = "t", .control = control});
    hold.wait_for(1);
    control.cancel();
    BOOST_TEST((code_of(run.get()) == errc::cancelled)); // though the body still holds
    hold.open();
    told.pass();
  } // all that still runs has ended
  BOOST_TEST(stopped == 1);
  BOOST_TEST(went_on == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
