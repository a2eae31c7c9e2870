// Checkpoints as snapshots.
#include "engine/stream_payloads.hpp"
#include "tests/fixtures/thread_probe.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe {
namespace {

// START to b and a, which are added in this order and both go to z.
compiled_graph parallel() {
  auto g = quiet_graph({"b", "a", "z"}, {{START, "b"}, {START, "a"}});
  g.add_edge({"a", "b"}, "z");
  return g.compile();
}

// A thread where a and b wait.
struct parallel_thread : thread_probe {
  parallel_thread() : thread_probe{parallel()} {
    input({{"x", 1}});
    run_step();
  }
  void ask(std::string_view node, const char* id) {
    keep(task_of(node), names::interrupt, value::list({value::of(interrupt{id, "sure?"})}));
  }
};

const task_snapshot& task_in(const state_snapshot& s, std::string_view name) {
  return *std::find_if(s.tasks.begin(), s.tasks.end(),
                       [&](const auto& t) { return t.name == name; });
}

std::vector<std::string> ids_of(const std::vector<interrupt>& questions) {
  std::vector<std::string> out;
  for (const auto& q : questions)
    out.push_back(q.id);
  return out;
}

// A thread of 20 checkpoints that differ in what they hold: tasks, writes, errors, questions.
struct long_thread : parallel_thread {
  long_thread() {
    for (int i = 0; made < 20; ++i) {
      ask("a", checkpoint_name(i).c_str());
      if (i % 2 == 0)
        keep(task_of("b"), names::error, error_value({errc::node_failed, "no"}));
      run_step({{"a", {{"x", i}}}, {"b", {{"log", value::list({i})}}}});
      run_step({{"z", {{"x", -i}}}});
      if (i % 3 == 0)
        finish({{"z", {{"x", 1}}}});
      input({{"x", i}});
      run_step();
    }
  }

  std::vector<state_snapshot> history(const history_options& options) {
    return read_history(plan, *store, config, options).value();
  }
};

void require_equal(const state_snapshot& a, const state_snapshot& b) {
  BOOST_REQUIRE((a.config == b.config));
  BOOST_TEST(a.values == b.values);
  BOOST_TEST(a.next == b.next, boost::test_tools::per_element());
  BOOST_TEST(a.metadata == b.metadata);
  BOOST_TEST(a.created_at == b.created_at);
  BOOST_TEST(a.parent_id == b.parent_id);
  BOOST_TEST(ids_of(a.interrupts) == ids_of(b.interrupts), boost::test_tools::per_element());
  BOOST_REQUIRE(a.tasks.size() == b.tasks.size());
  for (std::size_t i = 0; i < a.tasks.size(); ++i) {
    BOOST_TEST(a.tasks[i].id == b.tasks[i].id);
    BOOST_TEST(a.tasks[i].path == b.tasks[i].path);
    BOOST_TEST(a.tasks[i].error == b.tasks[i].error);
    BOOST_TEST((a.tasks[i].result == b.tasks[i].result));
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_snapshot)

// The pages of a history take each other's memory, so nothing of one may be left in the next.
BOOST_AUTO_TEST_CASE(a_history_shows_each_checkpoint_as_it_is_read_alone) {
  long_thread t;
  auto all = t.history({});
  BOOST_REQUIRE(all.size() == t.count());
  BOOST_REQUIRE(all.size() >= 20u);
  for (std::size_t i = 0; i < all.size(); ++i)
    require_equal(all[i], t.show(false, checkpoint_name(t.made - static_cast<int>(i))));
}

BOOST_AUTO_TEST_CASE(a_read_in_the_memory_of_another_one_shows_nothing_of_it) {
  long_thread full;
  parallel_thread other;
  auto alone = [](thread_probe& t) { return t.show(true, checkpoint_name(t.made)); };
  auto read = [](thread_probe& t, const run_config& config) {
    return read_snapshot(t.plan, *t.store, config, false).value();
  };
  const auto plans = full.plan.use_count();
  for (int round = 0; round < 2; ++round) {
    require_equal(read(full, full.config), alone(full));
    require_equal(read(other, other.config), alone(other));
    auto missing = read(other, {.thread_id = "no such thread"});
    BOOST_TEST(missing.values == value::map());
    BOOST_TEST(missing.tasks.empty());
  }
  BOOST_TEST(full.plan.use_count() == plans); // the memory keeps no graph
}

// A saver that lost all threads numbers its names anew.
BOOST_AUTO_TEST_CASE(a_read_takes_no_name_for_one_that_had_its_number_before) {
  parallel_thread t;
  read_snapshot(t.plan, *t.store, t.config, false).value();
  auto kept = t.store->get_tuple({"t", "", ""}).value();
  BOOST_REQUIRE(kept);
  t.store->delete_thread("t").value();
  checkpoint_put other;
  other.checkpoint.id = checkpoint_name(1);
  other.checkpoint.channel_versions = {{"branch:to:z", {1, 0}}, {"x", {1, 0}}};
  t.store->put({"u", "", ""}, other).value();
  t.store
    ->put({"t", "", ""}, {.parent_id = {},
                          .checkpoint = kept->checkpoint,
                          .metadata = kept->metadata,
                          .new_versions = {"branch:to:a", "branch:to:b", "x"}})
    .value();
  require_equal(read_snapshot(t.plan, *t.store, t.config, false).value(),
                t.show(true, checkpoint_name(t.made)));
}

BOOST_AUTO_TEST_CASE(a_thread_of_another_graph_is_read_as_far_as_the_graph_knows_it) {
  long_thread t;
  auto g = quiet_graph({"a", "new"}, {{START, "new"}});
  g.add_edge("new", "a");
  t.plan = g.compile().plan();
  auto all = t.history({});
  BOOST_REQUIRE(all.size() == t.count());
  for (std::size_t i = 0; i < all.size(); ++i)
    require_equal(all[i], t.show(false, checkpoint_name(t.made - static_cast<int>(i))));
}

BOOST_AUTO_TEST_CASE(a_read_refuses_an_id_that_no_saver_takes) {
  parallel_thread t;
  auto config = t.config;
  config.checkpoint_id.assign(limits::checkpoint_id_bytes_max + 1, 'x');
  auto read = read_snapshot(t.plan, *t.store, config, false);
  BOOST_REQUIRE(!read);
  BOOST_TEST((read.error().code() == errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(writes_of_several_paths_come_by_path) {
  parallel_thread t;
  const std::string outside{names::null_task_id};
  const checkpoint_ref at{"t", "", t.made_id()};
  t.store->put_writes(at, {outside, "b", {{"log", value::list({1})}}}).value();
  t.store->put_writes(at, {outside, "a", {{"x", 0}, {"log", value::list({2})}}}).value();
  auto shown = read_snapshot(t.plan, *t.store, t.config, false).value();
  BOOST_TEST(shown.values["log"] == (value{2, 1}));
  require_equal(shown, t.show(true));
}

// Ids of tasks that are not UUIDs are stored in another order than that of their texts.
BOOST_AUTO_TEST_CASE(the_writes_of_each_task_are_found_whatever_its_id) {
  parallel_thread t;
  for (const char* id : {"zz", "yyy", "x"})
    t.keep(id, "log", value::list({id}));
  t.finish({{"a", {{"x", 2}}}});
  auto shown = read_snapshot(t.plan, *t.store, t.config, false).value();
  BOOST_TEST((task_in(shown, "a").result == (value{{"x", 2}})));
  require_equal(shown, t.show(true));
}

BOOST_AUTO_TEST_CASE(a_history_has_as_many_checkpoints_as_were_asked_for) {
  long_thread t;
  for (std::size_t limit : {0, 1, 7, 8, 9, 15, 16, 17, 100}) {
    auto some = t.history({.limit = limit});
    BOOST_TEST(some.size() == std::min(limit, t.count()));
    if (limit != 0)
      BOOST_TEST(some.back().config.checkpoint_id
                 == checkpoint_name(t.made - static_cast<int>(some.size()) + 1));
  }
  auto older = t.history({.before = checkpoint_name(12)});
  BOOST_TEST(older.size() == t.count() - static_cast<std::size_t>(t.made - 11));
  BOOST_TEST(older.front().config.checkpoint_id == checkpoint_name(11));
  auto inputs = t.history({.filter = value::map({{"source", "input"}})});
  BOOST_TEST(inputs.size()
             == static_cast<std::size_t>(std::ranges::count_if(t.history({}), [](const auto& s) {
                  return s.metadata["source"] == value("input");
                })));
  BOOST_TEST(inputs.size() > 1u);
  auto one = t.history({.filter = value::map().with("step", 1)});
  BOOST_TEST(one.size() == t.history({.filter = value::map().with("step", 1.0)}).size());
  BOOST_TEST(one.size() >= 1u);
  BOOST_TEST(t.history({.filter = value::map().with("step", 1.5)}).empty());
  auto refused = read_history(t.plan, *t.store, t.config, {.filter = value(1)});
  BOOST_TEST((refused.error().code() == errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(a_thread_without_checkpoints_shows_an_empty_state) {
  auto plan = parallel().plan();
  auto shown = make_snapshot(plan, {"t", "", ""}, std::nullopt, true).value();
  BOOST_TEST(shown.values == value::map());
  BOOST_TEST(shown.config.thread_id == "t");
  BOOST_TEST(shown.config.checkpoint_id == "");
  BOOST_TEST(shown.metadata.is_null());
  BOOST_TEST(shown.next.empty());
  BOOST_TEST(shown.tasks.empty());
}

BOOST_AUTO_TEST_CASE(a_snapshot_says_which_checkpoint_it_is) {
  parallel_thread t;
  auto shown = t.show(true);
  BOOST_TEST(shown.config.checkpoint_id == checkpoint_name(3));
  BOOST_TEST(shown.parent_id == checkpoint_name(2));
  BOOST_TEST(shown.created_at == "2026-01-01T00:00:00.000000+00:00");
  BOOST_TEST(shown.metadata == (value{{"source", "loop"}, {"step", 0}, {"parents", value::map()}}));
  BOOST_TEST(shown.values == (value{{"x", 1}, {"log", value::list()}}));
}

BOOST_AUTO_TEST_CASE(the_tasks_to_come_stand_in_the_order_their_nodes_were_added) {
  parallel_thread t;
  auto shown = t.show(true);
  BOOST_TEST(text_list(shown.next) == (value{"b", "a"}));
  BOOST_REQUIRE(shown.tasks.size() == 2);
  BOOST_TEST(shown.tasks[0].id == t.task_of("b"));
  BOOST_TEST(shown.tasks[0].path == (value{"__pregel_pull", "b"}));
  BOOST_TEST(!shown.tasks[0].result.has_value());
  BOOST_TEST(shown.tasks[0].error.is_null());
}

BOOST_AUTO_TEST_CASE(an_input_shows_start_as_what_comes_next) {
  thread_probe t{parallel()};
  t.input({{"x", 1}});
  auto shown = t.show(true);
  BOOST_TEST(text_list(shown.next) == value::list({"__start__"}));
  BOOST_TEST(shown.values == (value{{"log", value::list()}}));
}

BOOST_AUTO_TEST_CASE(the_live_state_holds_what_finished_tasks_wrote) {
  parallel_thread t;
  t.finish({{"a", {{"x", 2}, {"log", value::list({"a"})}}}});
  auto live = t.show(true);
  BOOST_TEST(text_list(live.next) == value::list({"b"}));
  BOOST_TEST(live.values == (value{{"x", 2}, {"log", value::list({"a"})}}));
  BOOST_CHECK(task_in(live, "a").result == (value{{"x", 2}, {"log", value::list({"a"})}}));
}

BOOST_AUTO_TEST_CASE(
  a_checkpoint_addressed_by_id_shows_its_own_state_and_what_became_of_its_tasks) {
  parallel_thread t;
  t.finish({{"a", {{"x", 2}}}});
  auto then = t.show(false);
  BOOST_TEST(text_list(then.next) == (value{"b", "a"}));
  BOOST_TEST(then.values["x"] == value(1));
  BOOST_CHECK(task_in(then, "a").result == (value{{"x", 2}}));
  BOOST_TEST(!task_in(then, "b").result.has_value());
}

BOOST_AUTO_TEST_CASE(writes_of_parallel_tasks_fold_in_the_order_of_the_nodes_names) {
  parallel_thread t;
  t.finish({{"b", {{"log", value::list({"b"})}}}});
  t.finish({{"a", {{"log", value::list({"a"})}}}});
  BOOST_TEST(t.show(true).values["log"] == (value{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_task_that_wrote_no_state_has_an_empty_result) {
  parallel_thread t;
  t.keep(t.task_of("a"), names::no_writes, {});
  auto shown = t.show(true);
  BOOST_CHECK(task_in(shown, "a").result == value::map());
  BOOST_TEST(text_list(shown.next) == value::list({"b"}));
}

BOOST_AUTO_TEST_CASE(the_live_state_lists_questions_that_wait) {
  parallel_thread t;
  t.ask("b", "q1");
  t.ask("a", "q2");
  t.finish({{"a", {{"x", 2}}}});
  auto live = t.show(true);
  BOOST_TEST(text_list(ids_of(live.interrupts)) == value::list({"q1"}));
  BOOST_TEST(task_in(live, "a").interrupts.empty());
  BOOST_TEST(text_list(live.next) == value::list({"b"}));
}

BOOST_AUTO_TEST_CASE(history_lists_answered_questions_too) {
  parallel_thread t;
  t.ask("b", "q1");
  t.ask("a", "q2");
  t.finish({{"a", {{"x", 2}}}});
  auto then = t.show(false);
  BOOST_TEST(text_list(ids_of(then.interrupts)) == (value{"q1", "q2"}));
  BOOST_TEST(text_list(ids_of(task_in(then, "a").interrupts)) == value::list({"q2"}));
}

BOOST_AUTO_TEST_CASE(a_task_at_its_second_question_is_not_finished) {
  parallel_thread t;
  t.ask("a", "second");
  t.keep(t.task_of("a"), names::resume, value::list({"yes"}));
  auto live = t.show(true);
  BOOST_TEST(text_list(live.next) == (value{"b", "a"}));
  BOOST_TEST(!task_in(live, "a").result.has_value());
  BOOST_TEST(text_list(ids_of(live.interrupts)) == value::list({"second"}));
}

BOOST_AUTO_TEST_CASE(a_failed_task_shows_its_error_also_when_a_later_attempt_finished) {
  parallel_thread t;
  auto failure = error_value({errc::node_failed, "no", "ValueError"});
  t.keep(t.task_of("a"), names::error, failure);
  BOOST_TEST(task_in(t.show(true), "a").error == failure);
  BOOST_TEST(text_list(t.show(true).next) == (value{"b", "a"}));
  t.finish({{"a", {{"x", 2}}}});
  auto then = t.show(false);
  BOOST_TEST(task_in(then, "a").error == failure);
  BOOST_CHECK(task_in(then, "a").result == (value{{"x", 2}}));
}

BOOST_AUTO_TEST_CASE(what_a_command_wrote_from_outside_is_part_of_the_state) {
  parallel_thread t;
  t.keep(std::string{names::null_task_id}, "x", 9);
  t.keep(std::string{names::null_task_id}, "branch:to:z", START);
  for (bool live : {true, false}) {
    auto shown = t.show(live);
    BOOST_TEST(shown.values["x"] == value(9));
    BOOST_TEST(text_list(shown.next) == (value{"b", "a"})); // planned before, as in the reference
  }
}

BOOST_AUTO_TEST_CASE(writes_the_channels_refuse_are_shown_as_pending) {
  parallel_thread t;
  t.finish({{"a", {{"x", 2}}}, {"b", {{"x", 3}}}});
  auto live = t.show(true);
  BOOST_TEST(live.values == (value{{"x", 1}, {"log", value::list()}}));
  BOOST_TEST(text_list(live.next) == (value{"b", "a"}));
  BOOST_CHECK(task_in(live, "a").result == (value{{"x", 2}}));
  BOOST_CHECK(task_in(live, "b").result == (value{{"x", 3}}));
}

BOOST_AUTO_TEST_CASE(outside_writes_a_channel_refuses_leave_the_state_readable) {
  parallel_thread t;
  t.store
    ->put_writes({"t", "", t.made_id()},
                 {std::string{names::null_task_id}, "", {{"x", 8}, {"x", 9}}})
    .value();
  t.finish({{"a", {{"log", value::list({"a"})}}}});
  BOOST_TEST(t.show(true).values == (value{{"x", 1}, {"log", value::list({"a"})}}));
}

BOOST_AUTO_TEST_CASE(sent_tasks_come_first_with_their_index) {
  auto g = quiet_graph({"plan", "work"}, {{START, "plan"}});
  g.add_conditional_edges("plan", [](const state_view&) {
    return std::vector<send>{{"work", 1}, {"work", 2}};
  });
  thread_probe t{g.compile()};
  t.input({{"x", 1}});
  t.run_step();
  t.run_step();
  auto shown = t.show(true);
  BOOST_TEST(text_list(shown.next) == (value{"work", "work"}));
  BOOST_REQUIRE(shown.tasks.size() == 2);
  BOOST_TEST(shown.tasks[1].path == (value{"__pregel_push", 1, false}));
}

BOOST_AUTO_TEST_CASE(a_channel_a_task_wrote_twice_shows_both_writes) {
  parallel_thread t;
  t.store
    ->put_writes({"t", "", t.made_id()},
                 {t.task_of("a"), "", {{"log", value::list({1})}, {"log", value::list({2})}}})
    .value();
  BOOST_CHECK(*task_in(t.show(false), "a").result
              == (value{{"log", {{"$writes", {value::list({1}), value::list({2})}}}}}));
}

BOOST_AUTO_TEST_CASE(a_single_value_graph_shows_the_value_itself) {
  state_graph<> g{schema{{"__root__", append}}};
  g.add_node("a", say_nothing);
  g.add_edge(START, "a");
  thread_probe t{g.compile()};
  t.input(value::list({1}));
  t.run_step();
  BOOST_TEST(t.show(true).values == value::list({1}));
  t.finish({{"a", value::list({2})}});
  BOOST_TEST(t.show(true).values == (value{1, 2}));
  BOOST_CHECK(t.show(true).tasks.at(0).result == value::list({2}));
}

BOOST_AUTO_TEST_CASE(a_finished_thread_has_no_tasks) {
  parallel_thread t;
  t.run_step();
  t.run_step();
  auto shown = t.show(true);
  BOOST_TEST(shown.next.empty());
  BOOST_TEST(shown.tasks.empty());
  BOOST_TEST(shown.metadata["step"] == value(2));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_does_not_fit_the_graph_is_an_error) {
  parallel_thread t;
  auto saved = t.saved();
  for (auto& [name, v] : saved.checkpoint.channel_values)
    if (name == "log")
      v = "no list";
  saved.checkpoint.channel_values.emplace_back("join:a+b:z", "no list");
  saved.checkpoint.channel_versions.emplace_back("join:a+b:z", version{3, 7});
  auto sort = [](auto& list) {
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  };
  sort(saved.checkpoint.channel_values);
  sort(saved.checkpoint.channel_versions);
  auto shown = make_snapshot(t.plan, saved.ref, saved, true);
  BOOST_REQUIRE(!shown);
  BOOST_CHECK(shown.error().code() == errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
