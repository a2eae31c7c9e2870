// The facts of a run: what bodies read of its config, its callbacks, the defaults of an app, and
// stores and caches of a graph.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/agents/messages.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

const schema one_fact{{"fact", last_value}};

/// The config as its body sees it.
value fact_of(const run_config& config) {
  return value{{"thread", config.thread_id},
               {"run", config.run_id},
               {"name", config.run_name},
               {"tags", value::of(config.tags)},
               {"user", config.configurable["user"]},
               {"meta", config.metadata["m"]}};
}

compiled_graph tells_its_config(compile_options options = {}) {
  state_graph<> g{one_fact};
  g.add_node("look", [](context& ctx) { return value{{"fact", fact_of(ctx.config())}}; });
  g.add_edge(START, "look");
  return g.compile(std::move(options));
}

run_config full_config() {
  return {.tags = {"blue", "fast"},
          .run_name = "nightly",
          .run_id = "6f1c2b7e-0000-4000-8000-000000000001",
          .metadata = value{{"m", 1}},
          .configurable = value{{"user", "ada"}}};
}

/// Writes down every call.
struct diary : lifecycle_callbacks {
  std::vector<std::string> lines;
  std::string run_id;

  void on_resume(const event&) override { lines.push_back("resume"); }
  void on_interrupt(const event&) override { lines.push_back("interrupt"); }
  void on_run_begin(const event& what) override {
    run_id = what.run_id;
    lines.push_back("run begins " + what.config->run_name);
  }
  void on_run_end(const event&) override { lines.push_back("run ends"); }
  void on_run_error(const event&, const error& why) override {
    lines.push_back("run fails " + why.type());
  }
  void on_node_begin(const task_event& what) override {
    BOOST_TEST(what.run_id == run_id);
    BOOST_TEST(what.checkpoint_ns.ends_with(what.node + ":" + what.task_id));
    lines.push_back(what.node + " begins");
  }
  void on_node_end(const task_event& what) override {
    lines.push_back(what.node + (what.cached ? " was cached" : " ends"));
  }
  void on_node_error(const task_event& what, const error& why) override {
    lines.push_back(what.node + " fails " + why.text());
  }
  void on_task_begin(const task_event& what) override {
    lines.push_back("task " + what.node + " begins");
  }
  void on_task_end(const task_event& what) override {
    lines.push_back("task " + what.node + " ends");
  }
};

using lines = std::vector<std::string>;

void check_lines(const diary& of, const lines& expected) {
  BOOST_TEST(of.lines == expected, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_run_facts)

BOOST_AUTO_TEST_CASE(without_a_saver_tasks_have_ids_as_soon_as_one_of_them_asks) {
  struct facts {
    std::string checkpoint, task, ns;
  };
  std::map<std::string, std::vector<facts>> seen;
  std::mutex mutex;
  state_graph<> g{{{"n", sum}}};
  auto look = [&seen, &mutex](const state_view&, context& ctx) {
    std::lock_guard lock{mutex};
    seen[ctx.node()].push_back({ctx.checkpoint_id(), ctx.task_id(), ctx.checkpoint_ns()});
    return state_update{{"n", 1}};
  };
  for (const char* name : {"a", "b", "late"})
    g.add_node(name, look);
  g.add_node("quiet", [] {});
  g.add_edge(START, "a");
  g.add_edge(START, "b");
  g.add_edge("a", "quiet");
  g.add_edge("quiet", "late");
  runtime rt;
  auto app = rt.load(g.compile());
  for (int run = 0; run < 3; ++run) { // from the second one on, the tasks are known to be short
    seen.clear();
    auto result = app.invoke(value::map({{"n", 0}}));
    const auto &a = seen["a"].at(0), &b = seen["b"].at(0), &late = seen["late"].at(0);
    BOOST_TEST(a.checkpoint.size() == 36u);
    BOOST_TEST(a.checkpoint == b.checkpoint);
    BOOST_TEST(a.checkpoint < late.checkpoint);
    BOOST_TEST(late.checkpoint < result.checkpoint_id());
    BOOST_TEST(a.task.size() == 36u);
    BOOST_TEST(a.task != b.task);
    BOOST_TEST(a.ns == "a:" + a.task);
    BOOST_TEST(late.ns == "late:" + late.task);
  }
}

BOOST_AUTO_TEST_CASE(a_body_reads_the_config_of_its_run) {
  runtime rt{with_memory()};
  auto config = full_config();
  config.thread_id = "t";
  auto fact = rt.load(tells_its_config()).invoke({}, config).value()["fact"];
  config.metadata = value{{"m", 1}};
  BOOST_TEST(fact == fact_of(config));
}

BOOST_AUTO_TEST_CASE(a_run_without_a_name_and_an_id_has_that_of_its_graph_and_a_new_one) {
  runtime rt;
  auto app = rt.load(tells_its_config({.name = "teller"}));
  auto first = app.invoke({}).value()["fact"];
  auto second = app.invoke({}).value()["fact"];
  BOOST_TEST(first["name"] == value("teller"));
  BOOST_TEST(first["run"].as_string().size() == 36U);
  BOOST_TEST(first["run"] != second["run"]);
}

BOOST_AUTO_TEST_CASE(a_run_within_a_run_has_its_id_its_tags_and_its_configurable) {
  state_graph<> g{one_fact};
  g.add_node("inner", tells_its_config());
  g.add_edge(START, "inner");
  runtime rt;
  auto fact = rt.load(g.compile()).invoke({}, full_config()).value()["fact"];
  BOOST_TEST(fact["run"] == value(full_config().run_id));
  BOOST_TEST(fact["tags"] == value::of(full_config().tags));
  BOOST_TEST(fact["user"] == value("ada"));
}

BOOST_AUTO_TEST_CASE(parts_of_messages_have_the_configurable_the_tags_and_the_path) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("say",
             [](context& ctx) {
               ctx.stream_message(ai_message("hi"));
               return value::map();
             },
             {.metadata = value{{"tags", value::list({"own"})}}});
  g.add_edge(START, "say");
  runtime rt;
  auto config = full_config();
  config.configurable = value{{"user", "ada"}, {"api_key", "secret"}, {"__x", 1}, {"list", {1, 2}}};
  for (const auto& part : rt.load(g.compile()).stream({}, config, {stream_mode::messages})) {
    const auto& metadata = part.data[1];
    BOOST_TEST(metadata["user"] == value("ada"));
    BOOST_TEST(!metadata.contains("api_key"));
    BOOST_TEST(!metadata.contains("__x"));
    BOOST_TEST(!metadata.contains("list"));
    BOOST_TEST(metadata["tags"] == value::list({"blue", "fast", "own"}));
    BOOST_TEST(metadata["langgraph_path"] == value::list({"__pregel_pull", "say"}));
    return;
  }
  BOOST_ERROR("no part");
}

BOOST_AUTO_TEST_CASE(callbacks_are_called_in_the_order_of_what_happens) {
  state_graph<> g{log_only};
  g.add_node("a", [] { return log("a"); });
  g.add_node("b", [] { return log("b"); });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  runtime rt;
  auto heard = std::make_shared<diary>();
  rt.load(g.compile()).invoke({}, {.run_name = "r", .callbacks = heard});
  check_lines(*heard, {"run begins r", "a begins", "a ends", "b begins", "b ends", "run ends"});
}

BOOST_AUTO_TEST_CASE(callbacks_hear_of_failures_and_of_nodes_within_nodes) {
  state_graph<> inner{log_only};
  inner.add_node("bad", [](const state_view&) -> state_update { throw std::runtime_error{"oh"}; });
  inner.add_edge(START, "bad");
  state_graph<> g{log_only};
  g.add_node("outer", inner.compile());
  g.add_edge(START, "outer");
  runtime rt;
  auto heard = std::make_shared<diary>();
  BOOST_TEST(!rt.load(g.compile()).try_invoke({}, {.callbacks = heard}));
  check_lines(*heard, {"run begins ", "outer begins", "bad begins", "bad fails oh",
                       "outer fails oh", "run fails std::runtime_error"});
}

BOOST_AUTO_TEST_CASE(callbacks_hear_of_started_tasks_and_of_a_pause) {
  auto twice = task("twice", [](std::int64_t n) { return 2 * n; });
  auto flow = entrypoint("flow", [twice](std::int64_t n, context& ctx) {
    auto doubled = twice(ctx, n).get();
    return ctx.interrupt(doubled).as<std::int64_t>();
  });
  runtime rt{with_memory()};
  auto app = rt.load(flow);
  auto heard = std::make_shared<diary>();
  run_config config{.thread_id = "t", .callbacks = heard};
  BOOST_TEST(app.invoke(value(4), config).paused());
  check_lines(*heard, {"run begins ", "flow begins", "task twice begins", "task twice ends",
                       "interrupt", "run ends"});
  heard->lines.clear();
  app.invoke(command{.resume = value(1)}, config);
  BOOST_TEST(heard->lines.front() == "run begins ");
  BOOST_TEST(heard->lines.back() == "run ends");
}

BOOST_AUTO_TEST_CASE(a_callback_that_throws_changes_nothing) {
  struct thrower : lifecycle_callbacks {
    void on_node_begin(const task_event&) override { throw std::runtime_error{"not now"}; }
  };
  runtime rt;
  auto how = rt.load(tells_its_config()).try_invoke({}, {.callbacks = std::make_shared<thrower>()});
  BOOST_TEST(bool{how});
}

BOOST_AUTO_TEST_CASE(defaults_of_an_app_hold_where_a_call_says_nothing) {
  runtime rt{with_memory()};
  auto plain = rt.load(tells_its_config());
  auto defaults = full_config();
  defaults.thread_id = "bound";
  auto app = plain.with_config(defaults);
  auto fact = app.invoke({}).value()["fact"];
  BOOST_TEST(fact["thread"] == value("bound"));
  BOOST_TEST(fact["user"] == value("ada"));

  run_config call{.thread_id = "other",
                  .tags = {"late", "fast"},
                  .metadata = value{{"other", 2}},
                  .configurable = value{{"user", "bob"}}};
  fact = app.invoke({}, call).value()["fact"];
  BOOST_TEST(fact["thread"] == value("other"));
  BOOST_TEST(fact["tags"] == value::list({"blue", "fast", "late"}));
  BOOST_TEST(fact["user"] == value("bob"));
  BOOST_TEST(fact["meta"] == value(1));

  BOOST_TEST(app.get_state({}).values["fact"]["thread"] == value("bound"));
  BOOST_TEST(app.with_config({.thread_id = "third"}).invoke({}).value()["fact"]["user"]
             == value("ada"));
  auto unbound = plain.try_invoke({});
  BOOST_TEST((code_of(unbound) == errc::invalid_config)); // the app itself has no defaults
}

BOOST_AUTO_TEST_CASE(a_graph_may_have_a_store_and_a_cache_of_its_own) {
  auto own_store = make_memory_store();
  counter ran{0};
  state_graph<> g{one_fact};
  g.add_node("keep",
             [&ran](context& ctx) {
               ++ran;
               ctx.store()->put({"facts"}, "k", value{{"n", 1}}).value();
               return value{{"fact", 1}};
             },
             {.cache_policy = cache_policy{}});
  g.add_edge(START, "keep");
  auto of_runtime = make_memory_store();
  runtime rt{{.store = of_runtime}};
  auto app = rt.load(g.compile({.store = own_store, .cache = make_memory_cache()}));
  app.invoke({});
  app.invoke({});
  BOOST_TEST(ran == 1);
  BOOST_TEST(own_store->get({"facts"}, "k").value().has_value());
  BOOST_TEST(!of_runtime->get({"facts"}, "k").value().has_value());
  app.clear_cache().value();
  app.invoke({});
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(an_entrypoint_has_a_context_metadata_and_a_limit) {
  auto flow = entrypoint("flow",
                         [](std::int64_t, context& ctx) { return ctx.config().metadata["team"]; },
                         {.context_schema = run_context_type::of<std::int64_t>(),
                          .metadata = value{{"team", "red"}},
                          .recursion_limit = 7});
  runtime rt;
  auto app = rt.load(flow);
  BOOST_TEST(app.invoke(value(1), {.context = value(2)}).value() == value("red"));
  auto refused = app.try_invoke(value(1), {.context = value("no number")});
  BOOST_TEST((code_of(refused) == errc::invalid_config));
}

// ---- the other tasks of a failed step ---------------------------------------------------------

namespace {

/// Opens a gate when a node fails.
struct opener : lifecycle_callbacks {
  gate failed;
  void on_node_error(const task_event&, const error&) override { failed.open(); }
};

/// `other` beside a node that fails the first time, when `other` has begun.
compiled_graph fails_beside(std::function<void(context&)> other, counter& ran) {
  state_graph<> g{log_only};
  auto both = std::make_shared<meeting_point>(2);
  g.add_node("other",
             [other = std::move(other), both, &ran](context& ctx) {
               if (++ran == 1)
                 both->meet();
               other(ctx);
               return log("other");
             },
             {.lane = lane::blocking});
  g.add_node("fails",
             [both, failed = std::make_shared<counter>(0)](const state_view&) -> state_update {
               if (++*failed > 1)
                 return log("fails");
               both->meet();
               throw std::runtime_error{"oh"};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "other");
  g.add_edge(START, "fails");
  return g.compile();
}

const run_config patient{.thread_id = "t", .sibling_timeout = std::chrono::milliseconds{0}};

} // namespace

BOOST_AUTO_TEST_CASE(a_body_that_returns_because_its_step_failed_runs_again) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(fails_beside(
    [&](context& ctx) {
      while (ran == 1 && !ctx.stop_requested())
        std::this_thread::yield();
    },
    ran));
  BOOST_TEST((code_of(app.try_invoke({}, patient)) == errc::node_failed));
  BOOST_TEST(app.invoke(nullptr, patient).value()["log"] == words({"fails", "other"}));
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(a_task_that_ends_although_its_step_failed_is_kept) {
  counter ran{0};
  auto heard = std::make_shared<opener>();
  runtime rt{with_memory()};
  auto app = rt.load(fails_beside([&](context&) { heard->failed.pass(); }, ran));
  auto config = patient;
  config.callbacks = heard;
  BOOST_TEST((code_of(app.try_invoke({}, config)) == errc::node_failed));
  BOOST_TEST(app.invoke(nullptr, config).value()["log"] == words({"fails", "other"}));
  BOOST_TEST(ran == 1);
}

BOOST_AUTO_TEST_CASE(a_failed_step_does_not_wait_for_bodies_that_do_not_listen) {
  gate deaf;
  counter ran{0};
  state_graph<> g{log_only};
  g.add_node("deaf",
             [&] {
               if (++ran == 1)
                 deaf.pass();
               return log("deaf");
             },
             {.lane = lane::blocking});
  counter failures{0};
  g.add_node("fails",
             [&](const state_view&) -> state_update {
               if (++failures > 1)
                 return log("fails");
               deaf.wait_for(1);
               throw std::runtime_error{"oh"};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "deaf");
  g.add_edge(START, "fails");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  run_config config{.thread_id = "t", .sibling_timeout = std::chrono::milliseconds{1}};
  auto how = app.try_invoke({}, config); // returns although `deaf` waits
  BOOST_TEST((code_of(how) == errc::node_failed));
  BOOST_TEST(how.error().text() == "oh");
  deaf.open();
  BOOST_TEST(app.invoke(nullptr, config).value()["log"] == words({"deaf", "fails"}));
  BOOST_TEST(ran == 2); // its first end did not count
}

BOOST_AUTO_TEST_CASE(the_path_of_a_started_task_is_its_callers_and_its_number) {
  auto says = task("says", [](std::int64_t n, context& ctx) {
    ctx.stream_message(ai_message("hi"));
    return n;
  });
  auto flow = entrypoint("flow", [says](std::int64_t n, context& ctx) -> coro<std::int64_t> {
    auto first = says(ctx, n);
    auto a = co_await first;
    auto second = says(ctx, n);
    auto b = co_await second;
    co_return a + b;
  });
  runtime rt;
  std::vector<std::string> paths;
  for (const auto& part : rt.load(flow).stream(value(1), {}, {stream_mode::messages}))
    paths.push_back(to_json(part.data[1]["langgraph_path"]));
  BOOST_TEST(
    paths
      == (std::vector<std::string>{R"(["__pregel_push",["__pregel_pull","flow"],0,true])",
                                   R"(["__pregel_push",["__pregel_pull","flow"],1,true])"}),
    boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
