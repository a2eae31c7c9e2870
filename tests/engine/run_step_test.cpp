// The open step of a run: launching, order, and which slot decides.
#include "engine/run_step.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

// A graph with the nodes a, b and c, beside the start node of index 0.
struct step_of_three {
  compiled_graph graph = make();
  const graph_plan& plan = *graph.plan();
  run_step step;

  static compiled_graph make() {
    state_graph<> g{{{"log", append}}};
    for (const char* name : {"a", "b", "c"}) {
      g.add_node(name, [] { return state_update{}; });
      g.add_edge(START, name);
    }
    return g.compile();
  }
  step_of_three() {
    std::vector<planned_task> tasks;
    for (const char* name : {"c", "a", "b"}) {
      planned_task t;
      t.node = plan.find_node(name);
      t.id = std::string{"id of "} + name;
      tasks.push_back(std::move(t));
    }
    step.plan(plan, tasks);
    step.open();
    step.unfinished = 3;
  }
  step_slot& slot(const char* name) {
    for (auto& s : step.slots)
      if (s.node->name == name)
        return s;
    throw std::out_of_range{name};
  }
  void fail(const char* name, errc code = errc::node_failed) {
    slot(name).ended = true;
    slot(name).status = task_status::failed;
    slot(name).failure = error{code, name};
  }
};

std::vector<std::string> node_names(const std::vector<const step_slot*>& slots) {
  std::vector<std::string> out;
  for (const auto* s : slots)
    out.push_back(s->node->name);
  return out;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(engine_run_step, step_of_three)

BOOST_AUTO_TEST_CASE(slots_begin_in_order_and_within_the_bound) {
  auto* first = step.launch(2);
  auto* second = step.launch(2);
  BOOST_REQUIRE((first && second));
  BOOST_TEST(first->node->name == "c");
  BOOST_TEST(second->node->name == "a");
  BOOST_TEST(!step.launch(2)); // both places are taken
  --step.running;
  auto* third = step.launch(2);
  BOOST_REQUIRE(third);
  BOOST_TEST(third->node->name == "b");
  --step.running;
  BOOST_TEST(!step.launch(2)); // no slot is left
}

BOOST_AUTO_TEST_CASE(a_slot_that_has_its_writes_does_not_begin) {
  slot("c").ended = true;
  auto* first = step.launch(9);
  BOOST_REQUIRE(first);
  BOOST_TEST(first->node->name == "a");
}

BOOST_AUTO_TEST_CASE(the_rest_of_a_step_is_left) {
  step.launch(1);
  step.leave_rest();
  BOOST_TEST(step.unfinished == 1u);
  BOOST_TEST(!step.launch(9));
}

BOOST_AUTO_TEST_CASE(writes_count_in_task_order_not_in_planned_order) {
  BOOST_TEST(node_names(step.in_task_order(plan)) == (std::vector<std::string>{"a", "b", "c"}),
             boost::test_tools::per_element());
  const auto& applied = step.applied(plan);
  BOOST_REQUIRE(applied.size() == 3u);
  BOOST_TEST(applied[0].node == plan.find_node("a"));
  BOOST_TEST((applied[0].what == applied_task::kind::pull));
}

BOOST_AUTO_TEST_CASE(a_failed_task_decides_before_a_command_for_the_graph_further_out) {
  BOOST_TEST(!step.failed());
  fail("c");
  slot("c").status = task_status::parent_command;
  BOOST_TEST(step.failed() == &slot("c"));
  fail("b");
  BOOST_TEST(step.failed() == &slot("b"));
  slot("b").handled = true;
  BOOST_TEST(step.failed() == &slot("c"));
}

BOOST_AUTO_TEST_CASE(questions_name_the_nodes_that_asked) {
  for (const char* name : {"c", "b"}) {
    slot(name).ended = true;
    slot(name).status = task_status::interrupted;
    slot(name).questions = {interrupt{.id = name, .value = value(name)}};
  }
  BOOST_TEST(step.paused());
  BOOST_TEST(step.has_done()); // a
  slot("a").status = task_status::failed;
  BOOST_TEST(!step.has_done());
  BOOST_TEST(step.questions().size() == 2u);
  BOOST_TEST(step.asking_nodes(plan) == (std::vector<std::string>{"b", "c"}),
             boost::test_tools::per_element());
  BOOST_TEST(step.waiting_nodes() == (std::vector<std::string>{"a"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_failure_that_ends_the_run_is_not_the_task_s_own) {
  fail("a", errc::cancelled);
  BOOST_TEST(slot("a").bubbles());
  fail("b");
  BOOST_TEST(!slot("b").bubbles());
  slot("c").status = task_status::interrupted; // without a question of its own
  BOOST_TEST(slot("c").bubbles());
}

BOOST_AUTO_TEST_CASE(workers_are_listed_by_task) {
  BOOST_TEST(step.workers().is_null());
  slot("b").worker = "w1";
  BOOST_TEST(step.workers()["id of b"].as_string() == "w1");
  BOOST_TEST(step.workers().size() == 1u);
}

BOOST_AUTO_TEST_CASE(writes_count_by_name_of_the_node_and_then_by_place_of_the_send) {
  std::vector<planned_task> tasks;
  for (std::uint32_t i : {0u, 1u})
    tasks.push_back({.node = plan.find_node("a"), .push = true, .index = i, .id = "send"});
  for (const char* name : {"c", "b"})
    tasks.push_back({.node = plan.find_node(name), .id = name});
  step.plan(plan, tasks);
  const auto& order = step.in_task_order(plan);
  BOOST_TEST(node_names(order) == (std::vector<std::string>{"b", "c", "a", "a"}),
             boost::test_tools::per_element());
  BOOST_TEST(order[2]->plan.index == 0u);
  BOOST_TEST(order[3]->plan.index == 1u);
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_used_again_is_as_a_new_one) {
  fail("c");
  slot("c").writes.push_back(write_to("x", value(1)));
  slot("c").plan.timeout = timeout_policy{};
  slot("c").questions.push_back({"id", value(1), value{}});
  slot("c").worker = "w1";
  slot("c").handled = true;
  std::vector<planned_task> tasks;
  tasks.push_back({.node = plan.find_node("a"), .id = "next"});
  step.plan(plan, tasks);
  BOOST_REQUIRE(step.slots.size() == 1u);
  const auto& s = step.slots[0];
  BOOST_TEST(s.plan.id == "next");
  BOOST_TEST(!s.plan.timeout.has_value());
  BOOST_TEST(!s.ended);
  BOOST_TEST(!s.handled);
  BOOST_TEST(!s.failure);
  BOOST_TEST(!s.worker);
  BOOST_TEST(s.writes.empty());
  BOOST_TEST(s.questions.empty());
  BOOST_TEST((s.status == task_status::done));
}

BOOST_AUTO_TEST_CASE(a_cleared_step_holds_nothing) {
  step.launch(1);
  step.refused = error{errc::invalid_update, "x"};
  step.clear();
  BOOST_TEST(step.slots.empty());
  BOOST_TEST(step.running == 0u);
  BOOST_TEST(step.unfinished == 0u);
  BOOST_TEST(!step.refused.has_value());
  BOOST_TEST(!step.paused());
  BOOST_TEST(step.in_task_order(plan).empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
