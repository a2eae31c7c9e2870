// Tasks that run in another process, without the network between: what a body sees there, what
// comes back, and what reaches the home's saver, store and readers.
#include "tests/cluster/placed_graphs.hpp"
#include "tests/fixtures/loopback_workers.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct fixture {
  std::shared_ptr<saver> checkpoints = make_memory_saver();
  std::shared_ptr<store> memory = make_memory_store();
  runtime rt{
    {.saver = checkpoints, .store = memory, .workers = std::make_shared<loopback_workers>()}};
};

const schema& numbers = placed_numbers;

node_options elsewhere() {
  return {.placement = on_worker{}};
}

BOOST_AUTO_TEST_SUITE(cluster_loopback)

BOOST_FIXTURE_TEST_CASE(a_body_sees_its_state_and_its_run_and_its_writes_come_back, fixture) {
  state_graph<> g{numbers};
  std::string seen;
  g.add_node(
    "far",
    [&seen](const state_view& s, context& ctx) {
      seen = ctx.thread_id() + " " + ctx.node() + " " + std::to_string(ctx.step()) + " "
             + to_json(ctx.run_context()) + " " + to_json(ctx.metadata());
      return value{{"x", s["x"].as_int() + 1}, {"log", value::list({value("far")})}};
    },
    elsewhere());
  g.add_edge(START, "far");
  auto app = rt.load(g.compile());
  auto out = app.invoke(value{{"x", 1}}, {.thread_id = "t",
                                          .metadata = value{{"who", "me"}},
                                          .context = value{{"limit", 3}}});
  BOOST_TEST(out.value()["x"].as_int() == 2);
  BOOST_TEST(to_json(out.value()["log"]) == R"(["far"])");
  BOOST_TEST(seen.starts_with(R"(t far 1 {"limit":3} )"));
  BOOST_TEST(seen.find(R"("who":"me")") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(what_a_run_is_configured_with_is_read_by_placed_bodies_and_graphs,
                        fixture) {
  std::mutex guard;
  std::map<std::string, value> seen;
  auto look = [&](std::string who) {
    return [&, who](const state_view&, context& ctx) {
      std::lock_guard lock{guard};
      seen[who] = ctx.configurable();
      return value{{"x", 1}};
    };
  };
  state_graph<> inner{numbers};
  inner.add_node("inner", look("inner"));
  inner.add_edge(START, "inner");
  state_graph<> g{numbers};
  g.add_node("far", look("far"), elsewhere());
  g.add_node("sub", inner.compile({.name = "sub"}), elsewhere());
  g.add_edge(START, "far");
  g.add_edge("far", "sub");
  auto app = rt.load(g.compile());
  auto given = value{{"user", "ada"}, {"limits", value{{"calls", value::list({1, 2})}}}};
  app.invoke(value{{"x", 1}}, {.thread_id = "t", .configurable = given});
  BOOST_TEST((seen == std::map<std::string, value>{{"far", given}, {"inner", given}}));
  app.invoke(value{{"x", 1}}, {.thread_id = "u"});
  BOOST_TEST(seen["far"].is_null());
  BOOST_TEST(seen["inner"].is_null());
}

BOOST_FIXTURE_TEST_CASE(a_placed_body_runs_in_the_workers_runtime_and_one_that_is_not_here,
                        fixture) {
  state_graph<> g{numbers};
  std::atomic<std::thread::id> near, far;
  g.add_node("near", [&] { near = std::this_thread::get_id(); });
  g.add_node(
    "far", [&] { far = std::this_thread::get_id(); }, elsewhere());
  g.add_edge(START, "near");
  g.add_edge("near", "far");
  rt.load(g.compile()).invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST((near.load() == std::this_thread::get_id()));
  BOOST_TEST((far.load() != std::this_thread::get_id()));
}

BOOST_FIXTURE_TEST_CASE(routes_commands_and_sends_of_a_placed_body_count, fixture) {
  state_graph<> g{numbers};
  auto note = [](std::string name) {
    return [name](const state_view&) { return value{{"log", value::list({value(name)})}}; };
  };
  g.add_node("routed", note("routed"), elsewhere());
  g.add_node(
    "commands",
    [](const state_view&) {
      return command{.update = state_update{{"x", value(7)}},
                     .goto_ = std::vector{send{"leaf", value(1)}, send{"leaf", value(2)}}};
    },
    elsewhere());
  g.add_node(
    "leaf",
    [](const value& n) {
      return value{{"log", value::list({n})}};
    },
    elsewhere());
  g.add_edge(START, "routed");
  g.add_conditional_edges("routed", [](const state_view& s) {
    return std::string{s["log"].size() == 1 ? "commands" : "leaf"};
  });
  auto out = rt.load(g.compile()).invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST(to_json(out.value()) == R"({"log":["routed",1,2],"x":7})");
}

BOOST_FIXTURE_TEST_CASE(what_a_placed_body_throws_fails_its_node_under_its_name, fixture) {
  state_graph<> g{numbers};
  g.add_node(
    "far", [] { throw std::out_of_range{"too far"}; }, elsewhere());
  g.add_edge(START, "far");
  auto how = rt.load(g.compile()).try_invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::node_failed));
  BOOST_TEST(how.error().type() == "std::out_of_range");
  BOOST_TEST(how.error().text() == "too far");
}

BOOST_FIXTURE_TEST_CASE(retries_are_counted_at_home, fixture) {
  state_graph<> g{numbers};
  std::atomic<int> runs = 0;
  auto options = elsewhere();
  options.retry_policy =
    retry_policy{.initial_interval = 0ms,
                 .max_attempts = 3,
                 .jitter = false,
                 .retry_on = std::function<bool(const error&)>{[](const error&) { return true; }}};
  g.add_node(
    "far",
    [&runs](context& ctx) -> value {
      ++runs;
      if (ctx.node_attempt() < 3)
        throw std::runtime_error{"not yet"};
      return {{"x", static_cast<std::int64_t>(ctx.node_attempt())}};
    },
    options);
  g.add_edge(START, "far");
  auto out = rt.load(g.compile()).invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST(out.value()["x"].as_int() == 3);
  BOOST_TEST(runs == 3);
}

BOOST_FIXTURE_TEST_CASE(a_placed_body_that_runs_out_of_time_is_given_up_and_told_so, fixture) {
  state_graph<> g{numbers};
  auto held = std::make_shared<gate>(); // the body continues after the test
  auto told = std::make_shared<std::atomic<bool>>(false);
  auto options = elsewhere();
  options.lane = lane::blocking;
  options.timeout = 20ms;
  g.add_node(
    "far",
    [held, told](context& ctx) {
      while (!ctx.stop_requested())
        std::this_thread::yield();
      *told = true;
      held->pass();
    },
    options);
  g.add_edge(START, "far");
  auto how = rt.load(g.compile()).try_invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::node_timeout));
  held->wait_for(1);
  held->open();
  BOOST_TEST(*told);
}

BOOST_FIXTURE_TEST_CASE(a_placed_body_learns_that_its_step_failed, fixture) {
  state_graph<> g{numbers};
  auto began = std::make_shared<gate>();
  auto options = elsewhere();
  options.lane = lane::blocking;
  g.add_node(
    "far",
    [began](context& ctx) -> value {
      began->open();
      while (!ctx.stop_requested())
        std::this_thread::yield();
      return {{"x", 7}};
    },
    options);
  g.add_node("near",
             [began]() -> value {
               began->pass();
               throw error{errc::invalid_value, "boom"};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "far");
  g.add_edge(START, "near");
  auto app = rt.load(g.compile());
  auto how = app.try_invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST_REQUIRE(!how);
  BOOST_TEST(how.error().message().find("boom") != std::string::npos, how.error().message());
  auto stored = checkpoints->get_tuple({"t", "", ""}).value(); // its result does not count
  BOOST_TEST(std::ranges::none_of(stored->pending_writes,
                                  [](const pending_write& w) { return w.channel == "x"; }));
}

BOOST_FIXTURE_TEST_CASE(a_question_of_a_placed_body_waits_and_takes_its_answer, fixture) {
  state_graph<> g{numbers};
  g.add_node(
    "far",
    [](context& ctx) -> value {
      return {{"x", ctx.interrupt(value("how much?"))}};
    },
    elsewhere());
  g.add_edge(START, "far");
  auto app = rt.load(g.compile());
  auto asked = app.invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST_REQUIRE(asked.interrupts().size() == 1U);
  BOOST_TEST(asked.interrupts()[0].value.as_string() == "how much?");
  auto out = app.invoke(command{.resume = value(5)}, {.thread_id = "t"});
  BOOST_TEST(out.value()["x"].as_int() == 5);
}

// -- graphs

BOOST_FIXTURE_TEST_CASE(a_placed_graph_stores_with_its_home_and_goes_on_from_there, fixture) {
  auto app = rt.load(outer_asking_graph());
  auto asked = app.invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST_REQUIRE(asked.interrupts().size() == 1U);
  auto stored = checkpoints->list({.thread_id = "t"}).value();
  BOOST_TEST(
    std::count_if(stored.begin(), stored.end(),
                  [](const checkpoint_tuple& c) { return c.ref.checkpoint_ns.starts_with("sub:"); })
    == 3); // input, loop, loop
  auto state = app.get_state({.thread_id = "t"}, true);
  BOOST_TEST(state.tasks.at(0).state->values["x"].as_int() == 2);
  auto out = app.invoke(command{.resume = value(10)}, {.thread_id = "t"});
  BOOST_TEST(out.value()["x"].as_int() == 12);
}

BOOST_FIXTURE_TEST_CASE(a_command_of_a_placed_graph_reaches_the_graph_around_it, fixture) {
  state_graph<> inner{numbers};
  inner.add_node("up", [](const state_view&) {
    return command{
      .update = state_update{{"x", value(9)}}, .goto_ = "after", .graph = command::PARENT};
  });
  inner.add_edge(START, "up");
  state_graph<> g{numbers};
  g.add_node("sub", inner.compile(), elsewhere());
  g.add_node("after", [](const state_view& s) { return value{{"x", s["x"].as_int() + 1}}; });
  g.add_edge(START, "sub");
  auto out = rt.load(g.compile()).invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST(out.value()["x"].as_int() == 10);
}

// -- clocks, depth, places

/// An id of the time that a clock shows which is an hour ahead.
std::string id_in_an_hour() {
  auto then = std::chrono::system_clock::now() + 1h;
  auto now_ns = static_cast<std::uint64_t>(then.time_since_epoch() / 1ns);
  std::string id;
  checkpoint_id(checkpoint_id_clock{}.next_ticks(now_ns, 0), 0, 1, id);
  return id;
}

/// The newest checkpoint of a namespace, once more under that id: as another host had made it.
void make_as_of_an_hour_ahead(saver& store, const std::string& ns) {
  auto newest = store.get_tuple({"t", ns, ""}).value().value();
  checkpoint_put again{newest.ref.checkpoint_id, newest.checkpoint, newest.metadata, {}};
  again.checkpoint.id = id_in_an_hour();
  for (const auto& [channel, at] : again.checkpoint.channel_versions)
    again.new_versions.push_back(channel);
  store.put({"t", ns, ""}, again).value();
  std::map<std::string, task_writes> kept;
  for (auto& w : newest.pending_writes) {
    auto& of = kept[w.task_id];
    of.task_id = w.task_id;
    of.task_path = w.task_path;
    of.writes.emplace_back(w.channel, w.value);
  }
  for (auto& [task, writes] : kept)
    store.put_writes({"t", ns, again.checkpoint.id}, writes).value();
}

BOOST_FIXTURE_TEST_CASE(ids_ascend_where_the_clock_is_an_hour_behind, fixture) {
  auto app = rt.load(outer_asking_graph());
  app.invoke(value{{"x", 1}}, {.thread_id = "t"});
  std::string inner;
  for (const auto& c : checkpoints->list({.thread_id = "t"}).value())
    if (!c.ref.checkpoint_ns.empty())
      inner = c.ref.checkpoint_ns;
  make_as_of_an_hour_ahead(*checkpoints, inner);
  auto out = app.invoke(command{.resume = value(10)}, {.thread_id = "t"});
  BOOST_TEST(out.value()["x"].as_int() == 12);
  for (const auto& ns : {std::string{}, inner}) { // newest first: each newer than its parent
    auto stored = checkpoints->list({.thread_id = "t", .checkpoint_ns = ns}).value();
    BOOST_TEST(stored.front().checkpoint.channel_versions.size() > 0U);
    for (const auto& c : stored)
      BOOST_TEST(c.ref.checkpoint_id > c.parent_id);
    BOOST_TEST(stored.front().ref.checkpoint_id > id_in_an_hour().substr(0, 13));
  }
}

BOOST_FIXTURE_TEST_CASE(a_home_whose_clock_is_behind_goes_on_from_the_newest_checkpoint, fixture) {
  state_graph<> g{numbers};
  g.add_node("ask", [](context& ctx) -> value { return {{"x", ctx.interrupt(value("?"))}}; });
  g.add_edge(START, "ask");
  auto app = rt.load(g.compile());
  app.invoke(value{{"x", 1}}, {.thread_id = "t"});
  auto before = checkpoints->get_tuple({"t", "", ""}).value().value();
  checkpoint_put ahead{before.ref.checkpoint_id, before.checkpoint, before.metadata, {}};
  ahead.checkpoint.id = id_in_an_hour();
  checkpoints->put({"t", "", ""}, ahead).value();
  app.update_state({.thread_id = "t"}, state_update{{"x", value(3)}}, "ask");
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["x"].as_int() == 3);
  app.invoke(value{{"x", 5}}, {.thread_id = "t"});
  app.invoke(command{.resume = value(7)}, {.thread_id = "t"});
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["x"].as_int() == 7);
}

BOOST_FIXTURE_TEST_CASE(graphs_within_one_another_are_counted_over_processes, fixture) {
  state_graph<> leaf{numbers};
  leaf.add_node("leaf", [](const state_view&) { return value{{"x", 1}}; });
  leaf.add_edge(START, "leaf");
  auto inner = leaf.compile({.name = "leaf"});
  for (std::size_t i = 0; i <= limits::graph_depth_max; ++i) {
    state_graph<> g{numbers};
    g.add_node("in", inner, i == limits::graph_depth_max / 2 ? elsewhere() : node_options{});
    g.add_edge(START, "in");
    inner = g.compile({.name = "level" + std::to_string(i)});
  }
  auto how = rt.load(inner).try_invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST_REQUIRE(!how);
  BOOST_TEST(how.error().message().find("graph_depth_max") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_worker_of_a_task_is_in_its_result_and_in_the_metadata_of_its_step) {
  auto checkpoints = make_memory_saver();
  runtime rt{{.saver = checkpoints, .workers = std::make_shared<loopback_workers>("one")}};
  state_graph<> g{numbers};
  auto body = [](const state_view&) { return value{{"log", value::list({value("ran")})}}; };
  g.add_node("near", body);
  g.add_node("far", body, elsewhere());
  g.add_edge(START, "near");
  g.add_edge(START, "far");
  g.add_node("last", body);
  g.add_edge({"near", "far"}, "last");
  auto app = rt.load(g.compile());
  std::map<std::string, value> results;
  std::string far_id;
  for (auto& part : app.stream(value{{"x", 1}}, {.thread_id = "t"}, {stream_mode::tasks}))
    if (part.data.contains("result")) {
      results[std::string{part.data["name"].as_string()}] = part.data;
      if (part.data["name"] == value("far"))
        far_id = part.data["id"].as_string();
    }
  BOOST_TEST(results["far"]["worker"] == value("one"));
  BOOST_TEST(!results["near"].contains("worker"));
  BOOST_TEST(!results["last"].contains("worker"));
  auto stored = checkpoints->list({.thread_id = "t"}).value();
  BOOST_TEST_REQUIRE(stored.size() == 4U); // last, near and far, START, input
  BOOST_TEST(!stored[0].metadata.contains("workers"));
  BOOST_TEST(stored[1].metadata["workers"] == value::map({{far_id, "one"}}));
  BOOST_TEST(!stored[2].metadata.contains("workers"));
  auto there = app.get_state({.thread_id = "t", .checkpoint_id = stored[1].ref.checkpoint_id});
  BOOST_TEST(there.metadata["workers"][far_id] == value("one"));
}

BOOST_FIXTURE_TEST_CASE(of_a_step_with_very_many_placed_tasks_no_worker_is_stored, fixture) {
  auto workers = std::make_shared<loopback_workers>("one");
  runtime own{{.saver = checkpoints, .workers = workers}};
  for (auto tasks : {limits::metadata_workers_max, limits::metadata_workers_max + 1}) {
    state_graph<> g{numbers};
    g.add_node(
      "far", [](const value&) { return value{}; }, elsewhere());
    g.add_conditional_edges(START, [tasks](const state_view&) {
      return std::vector<destination>(tasks, send{"far", value(1)});
    });
    auto id = std::to_string(tasks);
    own.load(g.compile()).invoke(value{{"x", 1}}, {.thread_id = id});
    auto named = checkpoints->get_tuple({id, "", ""}).value()->metadata["workers"].size();
    BOOST_TEST(named == (tasks > limits::metadata_workers_max ? 0U : tasks));
  }
}

// -- readers and memory

BOOST_FIXTURE_TEST_CASE(readers_get_what_placed_bodies_stream_in_order_before_their_updates,
                        fixture) {
  state_graph<> g{numbers};
  g.add_node(
    "far",
    [](context& ctx) -> value {
      for (int i = 0; i < 600; ++i) // more than may be on their way
        ctx.write(value(i));
      return {{"x", 1}};
    },
    elsewhere());
  g.add_edge(START, "far");
  auto app = rt.load(g.compile());
  std::int64_t next = 0;
  bool updated = false;
  for (auto& part : app.stream(value{{"x", 0}}, {.thread_id = "t"},
                               {stream_mode::custom, stream_mode::updates})) {
    if (part.mode == stream_mode::custom) {
      BOOST_TEST(!updated);
      BOOST_TEST(part.data.as_int() == next++);
    } else {
      updated = true;
    }
  }
  BOOST_TEST(next == 600);
  BOOST_TEST(updated);
}

BOOST_FIXTURE_TEST_CASE(the_store_of_a_placed_body_is_its_homes, fixture) {
  memory->put({"notes"}, "a", value{{"n", 1}}).value();
  state_graph<> g{numbers};
  auto options = elsewhere();
  options.lane = lane::blocking;
  g.add_node(
    "far",
    [](context& ctx) -> value {
      auto found = ctx.store()->get({"notes"}, "a").value();
      ctx.store()->put({"notes"}, "b", value{{"n", found->value["n"].as_int() + 1}}).value();
      return {{"x", static_cast<std::int64_t>(
                      ctx.store()->search({.prefix = {"notes"}}).value().size())}};
    },
    options);
  g.add_edge(START, "far");
  auto out = rt.load(g.compile()).invoke(value{{"x", 0}}, {.thread_id = "t"});
  BOOST_TEST(out.value()["x"].as_int() == 2);
  BOOST_TEST(memory->get({"notes"}, "b").value()->value["n"].as_int() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
