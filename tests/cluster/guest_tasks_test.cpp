// The node actors of a worker: how long they are kept, and what happens when one dies. On CAF's
// test scheduler.
#include "cluster/guest_tasks.hpp"

#include "coordinator/runtime_core.hpp"
#include "tests/fixtures/simulated_system.hpp"

#include <troupe/troupe.hpp>

#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <variant>
#include <vector>

namespace troupe::cluster {
namespace {

struct told_messages : guest_listener {
  std::vector<message> all;
  void on_message(message what) override { all.push_back(std::move(what)); }
};

/// A worker with a node that ends at once, and one that sleeps.
struct guest_bench : simulated_system {
  std::shared_ptr<const graph_plan> plan = planned();
  std::shared_ptr<told_messages> told = std::make_shared<told_messages>();
  runtime_core machine{&sys, {}};
  std::unique_ptr<guest_tasks> guests = std::make_unique<guest_tasks>(machine);
  issue_number last_issue = 0;

  ~guest_bench() {
    guests.reset();
    sched.run();
  }

  static std::shared_ptr<const graph_plan> planned() {
    state_graph<> g{schema{{"x", last_value}}};
    g.add_node("short", [] { return state_update{}.set("x", 1); });
    g.add_node("sleeps", [](const state_view&, context& ctx) -> coro<state_update> {
      co_await ctx.sleep_for(std::chrono::hours{1});
      co_return state_update{};
    });
    g.add_edge(START, "short");
    g.add_edge(START, "sleeps");
    return g.compile({.name = "g"}).plan();
  }

  void start(const std::string& node, issue_number issue) {
    detail::task_scope task;
    task.identify("t", node + ":t");
    task.run = std::make_shared<run_shared>();
    task.run->plan = plan;
    task.node = &plan->nodes[plan->find_node(node)];
    task.whole = value::map({{"x", 0}});
    task.input = state_view{task.whole};
    auto content = encode_task(task, std::nullopt).value();
    auto run =
      std::make_shared<const remote_run>(decode_run(encode_run(*task.run).value(), plan).value());
    task_order order{.issue = issue, .run = 1, .task_id = "t", .node = node, .task = content.task};
    guests->start(run, order, content.step, told, nullptr).value();
  }

  std::size_t node_actors() {
    std::size_t out = 0;
    for (const auto& one : machine.shared().actors.list(nullptr))
      out += one.kind == "node" ? 1 : 0;
    return out;
  }

  std::size_t outcomes() const {
    return static_cast<std::size_t>(std::ranges::count_if(told->all, [](const message& m) {
      return std::holds_alternative<task_outcome>(m);
    }));
  }
};

BOOST_FIXTURE_TEST_SUITE(cluster_guest_tasks, guest_bench)

BOOST_AUTO_TEST_CASE(tasks_one_after_the_other_share_a_node_actor_and_tasks_at_once_do_not) {
  for (issue_number issue = 1; issue <= 3; ++issue) {
    start("short", issue);
    run_shuffled(1);
    BOOST_TEST(outcomes() == issue);
  }
  BOOST_TEST(seen("troupe.node").size() == 1);
  start("short", 4);
  start("short", 5);
  run_shuffled(1);
  BOOST_TEST(outcomes() == 5);
  BOOST_TEST(seen("troupe.node").size() == 2);
  BOOST_TEST(node_actors() == 2);
}

BOOST_AUTO_TEST_CASE(a_worker_keeps_a_bounded_number_of_idle_node_actors) {
  for (issue_number issue = 1; issue <= 100; ++issue)
    start("short", issue);
  BOOST_TEST(node_actors() == 100);
  run_shuffled(1);
  BOOST_TEST(outcomes() == 100);
  BOOST_TEST(node_actors() == 64);
}

BOOST_AUTO_TEST_CASE(a_task_whose_node_actor_dies_fails_and_the_next_one_gets_another_actor) {
  start("sleeps", 1);
  run_shuffled(1);
  BOOST_REQUIRE(told->all.empty());
  BOOST_REQUIRE(seen("troupe.node").size() == 1);
  caf::anon_send_exit(seen("troupe.node")[0], caf::exit_reason::kill);
  run_shuffled(1);
  BOOST_REQUIRE(outcomes() == 1);
  const auto& bytes = std::get<task_outcome>(told->all[0]).outcome;
  std::string text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  BOOST_TEST(text.find("its actor died") != std::string::npos);
  BOOST_TEST(node_actors() == 0);
  start("sleeps", 2);
  BOOST_TEST(node_actors() == 1);
}

BOOST_AUTO_TEST_CASE(a_stopped_task_leaves_its_actor_to_the_next_one_and_has_no_outcome) {
  start("sleeps", 1);
  run_shuffled(1);
  guests->stop(1);
  run_shuffled(1);
  start("sleeps", 2);
  run_shuffled(1);
  BOOST_TEST(node_actors() == 1);
  BOOST_TEST(outcomes() == 0);
}

BOOST_AUTO_TEST_CASE(the_actors_of_a_worker_end_with_it) {
  start("short", 1);
  run_shuffled(1);
  start("sleeps", 2);
  run_shuffled(1);
  BOOST_TEST(node_actors() == 2);
  guests.reset();
  run_shuffled(1);
  BOOST_TEST(node_actors() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::cluster
