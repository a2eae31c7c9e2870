// Applying the writes of a step.
#include "tests/fixtures/thread_probe.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe {
namespace {

using kind = applied_task::kind;

struct apply_probe {
  explicit apply_probe(const graph_builder& g) {
    reset_state(state, g.try_compile().value().plan(), 7);
  }

  channel_index channel(std::string_view name) const { return state.plan->find_channel(name); }
  task_write write(std::string_view name, value v = {}) const {
    return restore_write(*state.plan, std::string{name}, std::move(v));
  }
  applied_task task(std::string_view node, const task_write_list& writes, kind what = kind::pull) {
    return {what, what == kind::input ? no_index : state.plan->find_node(node), &writes};
  }

  /// The names of the channels that were updated.
  value apply(const std::vector<applied_task>& tasks, bool bump = true) {
    std::vector<std::string> out;
    for (auto c : apply_here(state, tasks, bump, &unknown).value())
      out.push_back(state.plan->channels[c].name);
    std::sort(out.begin(), out.end());
    return text_list(out);
  }
  value apply(std::string_view node, const task_write_list& writes, kind what = kind::pull) {
    return apply({task(node, writes, what)});
  }

  std::uint64_t at(std::string_view name) const { return state.versions[channel(name)].number; }
  value read(std::string_view name) const {
    auto c = channel(name);
    return read_channel(state.plan->channels[c].spec, state.cells[c]);
  }
  bool has(std::string_view name) const { return available(state, channel(name)); }

  thread_state state;
  std::vector<std::string> unknown;
};

state_graph<> pair() {
  return quiet_graph({"a", "b"}, {{START, "a"}, {"a", "b"}});
}

// a and b both before z
state_graph<> diamond() {
  auto g = quiet_graph({"a", "b", "z"}, {{START, "a"}, {START, "b"}});
  g.add_edge({"a", "b"}, "z");
  return g;
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_apply)

BOOST_AUTO_TEST_CASE(writes_fold_in_the_order_of_the_tasks) {
  apply_probe p{diamond()};
  task_write_list a{p.write("log", value{"a1", "a2"})}, b{p.write("log", value::list({"b"}))};
  auto updated = p.apply({p.task("a", a), p.task("b", b)});
  BOOST_TEST(p.read("log") == (value{"a1", "a2", "b"}));
  BOOST_TEST(updated == value::list({"log"}));
}

BOOST_AUTO_TEST_CASE(all_channels_of_a_step_get_one_version) {
  apply_probe p{pair()};
  p.apply("", {p.write(START, 1)}, kind::input);
  BOOST_TEST(p.at(START) == 1u);
  p.apply(START, {p.write("x", 1), p.write("log", value::list({1})), p.write("branch:to:a")});
  BOOST_TEST(p.at("x") == 2u);
  BOOST_TEST(p.at("log") == 2u);
  BOOST_TEST(p.at("branch:to:a") == 2u);
  BOOST_TEST(p.at(START) == 2u); // cleared
  BOOST_TEST(p.at("branch:to:b") == 0u);
  BOOST_TEST(p.state.newest.number == 2u);
}

BOOST_AUTO_TEST_CASE(an_equal_value_moves_its_channel_too) {
  apply_probe p{pair()};
  p.apply("a", {p.write("x", 1)});
  p.apply("a", {p.write("x", 1)});
  BOOST_TEST(p.at("x") == 2u);
}

BOOST_AUTO_TEST_CASE(a_task_has_seen_its_triggers_as_they_were_before_the_step) {
  apply_probe p{pair()};
  p.apply("", {p.write(START, 1)}, kind::input);
  BOOST_TEST(p.state.input_seen);
  BOOST_TEST(!p.state.seen[0].present);
  p.apply(START, {p.write("branch:to:a")});
  BOOST_REQUIRE(p.state.seen[0].at.size() == 1);
  BOOST_TEST(p.state.seen[0].at[0].number == 1u);
}

BOOST_AUTO_TEST_CASE(pushed_tasks_and_updates_from_outside_have_seen_nothing) {
  for (auto what : {kind::push, kind::outside}) {
    apply_probe p{pair()};
    p.apply(START, {p.write("branch:to:a")});
    p.apply("a", {p.write("x", 1)}, what);
    BOOST_TEST(p.state.seen[p.state.plan->find_node("a")].present);
    BOOST_TEST(p.state.seen[p.state.plan->find_node("a")].at.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_branch_is_forgotten_by_the_step_its_node_runs_in) {
  apply_probe p{pair()};
  p.apply(START, {p.write("branch:to:a")});
  BOOST_TEST(p.has("branch:to:a"));
  p.apply("a", {p.write("branch:to:b")});
  BOOST_TEST(!p.has("branch:to:a"));
  BOOST_TEST(p.at("branch:to:a") == 2u);
  BOOST_TEST(p.has("branch:to:b"));
}

BOOST_AUTO_TEST_CASE(a_branch_its_own_node_writes_again_stays_armed) {
  apply_probe p{pair()};
  p.apply(START, {p.write("branch:to:a")});
  auto updated = p.apply("a", {p.write("branch:to:a")});
  BOOST_TEST(p.has("branch:to:a"));
  BOOST_TEST(updated == value::list({"branch:to:a"}));
}

BOOST_AUTO_TEST_CASE(an_input_silences_no_channel) {
  apply_probe p{pair()};
  p.apply(START, {p.write("branch:to:a")});
  p.apply("", {p.write("x", 1)}, kind::input);
  BOOST_TEST(p.has("branch:to:a"));
  BOOST_TEST(p.at("branch:to:a") == 1u);
}

BOOST_AUTO_TEST_CASE(silent_state_channels_forget_and_others_stay) {
  state_graph<> g{schema{{"gone", ephemeral}, {"any", any_value}, {"kept", last_value}}};
  g.add_node("a", say_nothing);
  g.add_edge(START, "a");
  apply_probe p{g};
  p.apply("a", {p.write("gone", 1), p.write("any", 1), p.write("kept", 1)});
  BOOST_TEST(p.has("gone"));
  BOOST_TEST(p.has("any"));
  p.apply("a", {});
  BOOST_TEST(!p.has("gone"));
  BOOST_TEST(!p.has("any"));
  BOOST_TEST(p.read("kept") == value(1));
  BOOST_TEST(p.at("gone") == 2u);
  BOOST_TEST(p.at("kept") == 1u);
  BOOST_TEST(p.state.live.empty());
}

BOOST_AUTO_TEST_CASE(a_join_is_emptied_before_it_is_written) {
  apply_probe p{diamond()};
  p.apply(START, {p.write("branch:to:a"), p.write("branch:to:b")});
  task_write_list a{p.write("join:a+b:z", "a")}, b{p.write("join:a+b:z", "b")}, none;
  p.apply({p.task("a", a), p.task("b", b)});
  BOOST_TEST(p.has("join:a+b:z"));
  p.apply({p.task("a", a), p.task("z", none)}); // a arrives again while z runs
  BOOST_TEST(!p.has("join:a+b:z"));
  BOOST_TEST(p.state.cells[p.channel("join:a+b:z")].content == value::list({"a"}));
}

BOOST_AUTO_TEST_CASE(a_half_filled_join_is_not_emptied) {
  apply_probe p{diamond()};
  task_write_list a{p.write("join:a+b:z", "a")};
  p.apply("a", a);
  p.apply("b", {});
  BOOST_TEST(p.state.cells[p.channel("join:a+b:z")].content == value::list({"a"}));
  BOOST_TEST(p.at("join:a+b:z") == 1u);
}

BOOST_AUTO_TEST_CASE(a_deferred_node_is_armed_when_nothing_else_is) {
  state_graph<> g{schema{{"x", last_value}}};
  g.add_node("a", say_nothing);
  g.add_node("b", say_nothing);
  g.add_node("late", say_nothing, {.defer = true});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("a", "late");
  apply_probe p{g};
  BOOST_TEST(p.apply("a", {p.write("branch:to:b"), p.write("branch:to:late")})
             == value::list({"branch:to:b"}));
  BOOST_TEST(!p.has("branch:to:late"));
  BOOST_TEST(p.at("branch:to:late") == 1u);
  BOOST_TEST(p.apply("b", {}) == value::list({"branch:to:late"}));
  BOOST_TEST(p.has("branch:to:late"));
  BOOST_TEST(p.at("branch:to:late") == 2u);
  p.apply("late", {});
  BOOST_TEST(!p.has("branch:to:late"));
  BOOST_TEST(p.at("branch:to:late") == 3u);
}

BOOST_AUTO_TEST_CASE(a_preview_changes_contents_and_no_version) {
  apply_probe p{pair()};
  p.apply(START, {p.write("x", 1), p.write("branch:to:a")});
  auto versions = p.state.versions;
  auto moved = p.state.moved;
  task_write_list a{p.write("x", 2), p.write("branch:to:b")};
  BOOST_TEST(p.apply({p.task("a", a)}, false) == value::list());
  BOOST_TEST(p.read("x") == value(2));
  BOOST_TEST(!p.has("branch:to:a"));
  BOOST_CHECK(p.state.versions == versions);
  BOOST_CHECK(p.state.moved == moved);
  BOOST_TEST(p.state.newest.number == 1u);
}

BOOST_AUTO_TEST_CASE(unknown_channels_are_reported_and_special_ones_are_not) {
  apply_probe p{pair()};
  p.apply("a", {p.write("x", 1), p.write("branch:to:nobody"), p.write(names::no_writes),
                p.write(names::resume, 1), p.write(names::interrupt), p.write(names::error)});
  BOOST_TEST(text_list(p.unknown) == value::list({"branch:to:nobody"}));
  BOOST_TEST(p.read("x") == value(1));
}

BOOST_AUTO_TEST_CASE(two_writes_to_a_last_value_channel_are_refused) {
  apply_probe p{diamond()};
  task_write_list a{p.write("x", 1)}, b{p.write("x", 2)};
  std::vector tasks{p.task("a", a), p.task("b", b)};
  auto refused = apply_here(p.state, tasks, true);
  BOOST_REQUIRE(!refused);
  BOOST_CHECK(refused.error().code() == errc::invalid_update);
  BOOST_TEST(refused.error().message().starts_with(
    "At key 'x': Can receive only one value per step. Several nodes wrote it: "));
}

BOOST_AUTO_TEST_CASE(begin_changes_control_channels_and_tells_what_the_others_must_hear) {
  state_graph<> g{schema{{"x", last_value}, {"gone", ephemeral}, {"log", append}}};
  g.add_node("a", say_nothing);
  g.add_edge(START, "a");
  apply_probe p{g};
  p.apply("a", {p.write("gone", 1)});
  task_write_list a{p.write("log", value::list({1})), p.write("x", 5), p.write("branch:to:a"),
                    p.write("log", value::list({2}))};
  std::vector tasks{p.task("a", a)};
  step_apply step{p.state, true};
  auto changes = step.begin(tasks).value();
  BOOST_REQUIRE(changes.size() == 3);
  BOOST_TEST(changes[0].channel == p.channel("log"));
  BOOST_TEST(changes[0].writes.size() == 2u);
  BOOST_TEST(changes[1].channel == p.channel("x"));
  BOOST_TEST(changes[2].channel == p.channel("gone"));
  BOOST_TEST(changes[2].writes.empty());
  BOOST_TEST(p.has("branch:to:a"));
  BOOST_TEST(!p.has("x"));
  step.settle(p.channel("x"), {value(5), true, false}, true);
  step.settle(p.channel("log"), {value{1, 2}, true, false}, true);
  step.settle(p.channel("gone"), {}, true);
  auto updated = step.finish().value();
  BOOST_TEST(updated.size() == 3u); // gone moved, and is not there any more
  BOOST_TEST(p.read("x") == value(5));
  BOOST_TEST(p.at("gone") == 2u);
  BOOST_TEST(p.state.is_live[p.channel("branch:to:a")] == 1);
  BOOST_TEST(p.state.is_live[p.channel("gone")] == 0);
}

BOOST_AUTO_TEST_CASE(a_topic_of_sends_lasts_one_step) {
  apply_probe p{pair()};
  p.apply("a", {p.write(names::tasks, value::of(send{"b", 1}))});
  BOOST_TEST(p.has(names::tasks));
  p.apply("b", {}, kind::push);
  BOOST_TEST(!p.has(names::tasks));
  BOOST_TEST(p.at(names::tasks) == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
