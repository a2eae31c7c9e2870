// Which tasks run next: the trigger rule, their order and their ids.
#include "tests/fixtures/thread_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

std::vector<std::string> names_of(const thread_state& state,
                                  const std::vector<planned_task>& tasks) {
  std::vector<std::string> out;
  for (const auto& t : tasks)
    out.push_back(state.plan->nodes[t.node].name);
  return out;
}

struct plan_probe {
  explicit plan_probe(const state_graph<>& g) {
    reset_state(state, g.compile().plan(), 7);
    at_id = checkpoint_name(4);
  }

  channel_index channel(std::string_view name) const { return state.plan->find_channel(name); }
  node_index node(std::string_view name) const { return state.plan->find_node(name); }

  /// The channel as an earlier step left it.
  void arm(std::string_view name, value v = {}, std::uint64_t at = 1) {
    auto c = channel(name);
    state.cells[c] = {std::move(v), true, false};
    state.versions[c] = {at, 7};
    state.newest = std::max(state.newest, state.versions[c]);
  }
  void see(std::string_view name, std::vector<version> versions) {
    state.seen[node(name)] = {true, std::move(versions)};
  }

  std::vector<planned_task> plan(const std::vector<channel_index>* updated = nullptr,
                                 std::vector<std::string>* ignored = nullptr) const {
    return plan_next_tasks(state, {at_id, ns, step}, updated, ignored);
  }
  value names(const std::vector<channel_index>* updated = nullptr) const {
    return text_list(names_of(state, plan(updated)));
  }

  thread_state state;
  std::string at_id, ns;
  std::int64_t step = 2;
};

// START to all of them, added in an order that is not theirs.
state_graph<> fan() {
  return quiet_graph({"c", "a", "b"}, {{START, "c"}, {START, "a"}, {START, "b"}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_plan)

BOOST_AUTO_TEST_CASE(an_id_that_is_made_later_is_the_one_that_is_made_at_once) {
  plan_probe p{fan()};
  p.arm("branch:to:a");
  p.arm("__pregel_tasks", value::list({value::of(send{"b", value(1)}), value::of(send{"c"})}));
  auto at_once = p.plan();
  auto later = plan_next_tasks(p.state, {}, nullptr);
  BOOST_REQUIRE(at_once.size() == 3u);
  BOOST_REQUIRE(later.size() == 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(later[i].id.empty());
    BOOST_TEST(id_of({p.at_id, p.ns, p.step}, *p.state.plan, later[i]) == at_once[i].id);
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_never_ran_is_triggered_by_any_available_channel) {
  plan_probe p{fan()};
  BOOST_TEST(!triggered(p.state, p.node("a")));
  p.state.cells[p.channel("branch:to:a")].set = true; // no version is needed
  BOOST_TEST(triggered(p.state, p.node("a")));
}

BOOST_AUTO_TEST_CASE(a_node_that_ran_is_triggered_by_a_newer_version_only) {
  plan_probe p{fan()};
  p.arm("branch:to:a", {}, 3);
  p.see("a", {{3, 7}});
  BOOST_TEST(!triggered(p.state, p.node("a")));
  p.see("a", {{2, 7}});
  BOOST_TEST(triggered(p.state, p.node("a")));
  p.see("a", {{3, 6}}); // the same number on another branch
  BOOST_TEST(triggered(p.state, p.node("a")));
}

BOOST_AUTO_TEST_CASE(a_node_that_acted_without_triggers_has_seen_no_version) {
  plan_probe p{fan()};
  p.see("a", {});
  p.state.cells[p.channel("branch:to:a")].set = true;
  BOOST_TEST(!triggered(p.state, p.node("a"))); // present in versions_seen, and no version to see
  p.arm("branch:to:a");
  BOOST_TEST(triggered(p.state, p.node("a")));
}

BOOST_AUTO_TEST_CASE(a_channel_that_moved_and_is_empty_triggers_nothing) {
  plan_probe p{fan()};
  p.arm("branch:to:a", {}, 3);
  p.state.cells[p.channel("branch:to:a")] = {};
  BOOST_TEST(p.plan().empty());
}

BOOST_AUTO_TEST_CASE(nodes_come_by_name_when_the_updated_channels_are_known_else_as_added) {
  plan_probe p{fan()};
  std::vector<channel_index> updated;
  for (auto* name : {"branch:to:b", "branch:to:c", "branch:to:a"}) {
    p.arm(name);
    updated.push_back(p.channel(name));
  }
  BOOST_TEST(p.names(&updated) == (value{"a", "b", "c"}));
  BOOST_TEST(p.names() == (value{"c", "a", "b"}));
}

BOOST_AUTO_TEST_CASE(only_nodes_of_updated_channels_are_asked) {
  plan_probe p{fan()};
  p.arm("branch:to:a");
  p.arm("branch:to:b");
  std::vector<channel_index> updated{p.channel("branch:to:b"), p.channel("log")};
  BOOST_TEST(p.names(&updated) == value::list({"b"}));
}

BOOST_AUTO_TEST_CASE(an_empty_list_of_updated_channels_counts_as_unknown) {
  plan_probe p{fan()};
  p.arm("branch:to:b");
  std::vector<channel_index> none;
  BOOST_TEST(p.names(&none) == value::list({"b"}));
}

BOOST_AUTO_TEST_CASE(a_node_two_updated_channels_trigger_runs_once) {
  auto g = quiet_graph({"a", "b", "z"}, {{START, "a"}, {START, "b"}, {"b", "z"}});
  g.add_edge({"a", "b"}, "z");
  plan_probe p{g};
  p.arm("branch:to:z");
  p.arm("join:a+b:z", value{"a", "b"});
  std::vector<channel_index> updated{p.channel("join:a+b:z"), p.channel("branch:to:z")};
  BOOST_TEST(p.names(&updated) == value::list({"z"}));
}

BOOST_AUTO_TEST_CASE(nothing_runs_on_a_thread_without_versions) {
  plan_probe p{fan()};
  p.state.cells[p.channel("branch:to:a")].set = true;
  BOOST_TEST(p.plan().empty());
}

BOOST_AUTO_TEST_CASE(sends_come_first_with_their_arguments) {
  plan_probe p{fan()};
  p.arm("branch:to:a");
  p.arm(names::tasks, value::list({value::of(send{"c", 1}), value::of(send{"b", 2})}));
  auto tasks = p.plan();
  BOOST_TEST(text_list(names_of(p.state, tasks)) == (value{"c", "b", "a"}));
  BOOST_REQUIRE(tasks.size() == 3);
  BOOST_TEST(tasks[0].push);
  BOOST_TEST(tasks[0].arg == value(1));
  BOOST_TEST(tasks[1].index == 1u);
  BOOST_TEST(tasks[1].arg == value(2));
  BOOST_TEST(!tasks[2].push);
}

BOOST_AUTO_TEST_CASE(a_send_to_an_unknown_node_is_dropped_and_keeps_its_place) {
  plan_probe p{fan()};
  p.arm(names::tasks, value::list({value::of(send{"nobody", 1}), value::of(send{START, 1}),
                                   "no send at all", value::of(send{"b", 2})}));
  std::vector<std::string> ignored;
  auto tasks = p.plan(nullptr, &ignored);
  BOOST_TEST(text_list(ignored) == (value{"nobody", "__start__"}));
  BOOST_REQUIRE(tasks.size() == 1);
  BOOST_TEST(tasks[0].index == 3u);
}

BOOST_AUTO_TEST_CASE(task_ids_are_the_reference_s) {
  auto g = quiet_graph({"a", "bad", "ok", "w", "z"},
                       {{START, "a"}, {"a", "z"}, {START, "bad"}, {START, "ok"}, {START, "w"}});
  g.add_edge({"bad", "ok"}, "z");
  plan_probe p{g};
  auto id_at = [&p](int checkpoint, std::int64_t step) {
    p.at_id = checkpoint_name(checkpoint);
    p.step = step;
    return p.plan().at(0).id;
  };
  p.arm(names::start);
  BOOST_TEST(id_at(2, 0) == "369e94cc-ca2c-1945-da11-18338a803176");
  p.ns = "p:f26f3d9d-bc2a-ebf6-33cc-8defe8d0982a";
  BOOST_TEST(id_at(5, 0) == "bacff7fa-efb4-7cbc-ac06-6a3ef3f6154b");
  p = plan_probe{g};
  p.arm("branch:to:a");
  BOOST_TEST(id_at(3, 1) == "156f4c85-1564-a949-6d29-3e0f718e604b");
  p = plan_probe{g};
  p.arm("branch:to:z");
  BOOST_TEST(id_at(4, 2) == "823ea499-b01b-9ef7-e8ce-ded02377a189");
  p = plan_probe{g};
  p.arm(names::tasks, value::list({value::of(send{"w", 1})}));
  BOOST_TEST(id_at(4, 2) == "bf84b9f5-494b-27e4-9663-9ff6b135a389");
}

BOOST_AUTO_TEST_CASE(a_breakpoint_stops_at_its_node_when_a_channel_moved_since_the_last_resume) {
  plan_probe p{fan()};
  p.arm("branch:to:a", {}, 3);
  auto tasks = p.plan();
  BOOST_TEST(stops_at(p.state, {"a"}, tasks));
  BOOST_TEST(stops_at(p.state, {"x", "a"}, tasks));
  BOOST_TEST(!stops_at(p.state, {"b"}, tasks));
  BOOST_TEST(!stops_at(p.state, {}, tasks));
  BOOST_TEST(!stops_at(p.state, {"a"}, {}));
  p.state.interrupt_seen = p.state.versions;
  BOOST_TEST(!stops_at(p.state, {"a"}, tasks));
  p.arm("x", 1, 4);
  BOOST_TEST(stops_at(p.state, {"a"}, tasks));
}

BOOST_AUTO_TEST_CASE(a_breakpoint_at_all_nodes_leaves_out_start) {
  plan_probe p{fan()};
  p.arm(names::start);
  BOOST_TEST(!stops_at(p.state, {"*"}, p.plan()));
  BOOST_TEST(stops_at(p.state, {START}, p.plan()));
  p.arm("branch:to:b");
  BOOST_TEST(stops_at(p.state, {"*"}, p.plan()));
}

BOOST_AUTO_TEST_CASE(tasks_are_ordered_by_node_name_then_sends_by_index) {
  plan_probe p{fan()};
  const auto& plan = *p.state.plan;
  auto pull = [&p](const char* name) { return planned_task{p.node(name), false, 0, {}, {}}; };
  auto push = [&p](const char* name, std::uint32_t i) {
    return planned_task{p.node(name), true, i, {}, {}};
  };
  BOOST_TEST(task_order{}(plan, pull("a"), pull("c")));
  BOOST_TEST(!task_order{}(plan, pull("c"), pull("a")));
  BOOST_TEST(task_order{}(plan, pull("c"), push("a", 0)));
  BOOST_TEST(task_order{}(plan, push("c", 2), push("a", 10)));
}

BOOST_AUTO_TEST_CASE(a_task_s_namespace_stands_behind_its_graph_s) {
  BOOST_TEST(task_namespace("", "a", "id") == "a:id");
  BOOST_TEST(task_namespace("p:1", "a", "id") == "p:1|a:id");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
