// Updates from outside, against what the reference stores for the same calls.
#include "tests/fixtures/thread_probe.hpp"

#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

compiled_graph chain() {
  return quiet_graph({"a", "b", "c"}, {{START, "a"}, {"a", "b"}, {"b", "c"}, {"c", END}}).compile();
}

// a and bad before z
compiled_graph join() {
  auto g = quiet_graph({"a", "bad", "z"}, {{START, "a"}, {START, "bad"}});
  g.add_edge({"a", "bad"}, "z");
  return g.compile();
}

// A thread whose next node is a.
struct chain_thread : thread_probe {
  chain_thread() : thread_probe{chain()} {
    input({{"x", 0}});
    run_step();
  }
};

value log_of(const char* word) {
  return {{"log", value::list({word})}};
}

std::vector<std::string> channels_of(const std::vector<pending_write>& writes) {
  std::vector<std::string> out;
  for (const auto& w : writes)
    out.push_back(w.channel);
  return out;
}

value next_of(const thread_probe& t) {
  return text_list(t.show(true).next);
}

void check_refusal(const result<checkpoint_ref>& answer, errc code, std::string_view message) {
  BOOST_REQUIRE(!answer);
  BOOST_CHECK(answer.error().code() == code);
  BOOST_TEST(answer.error().message() == message);
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_outside_update)

BOOST_AUTO_TEST_CASE(an_update_as_a_node_stores_its_writes_and_a_checkpoint_behind_it) {
  chain_thread t;
  auto made = t.update(state_update{log_of("by hand")}, "a").value();
  BOOST_TEST(made.checkpoint_id == checkpoint_name(4));
  auto saved = t.saved();
  BOOST_TEST(saved.parent_id == checkpoint_name(3));
  BOOST_TEST(saved.metadata
             == (value{{"source", "update"}, {"step", 1}, {"parents", value::map()}}));
  BOOST_TEST(!saved.checkpoint.updated_channels.has_value());
  BOOST_TEST(
    numbers(saved.checkpoint.channel_versions)
    == (value{{"__start__", 2}, {"branch:to:a", 3}, {"branch:to:b", 3}, {"log", 3}, {"x", 2}}));
  BOOST_TEST(numbers(saved.checkpoint.versions_seen)
             == (value{{"__input__", value::map()},
                       {"__start__", {{"__start__", 1}}},
                       {"a", value::map()}}));
  BOOST_TEST(as_map(saved.checkpoint.channel_values)
             == (value{{"branch:to:b", nullptr}, {"log", value::list({"by hand"})}, {"x", 0}}));
  BOOST_TEST(next_of(t) == value::list({"b"}));
}

BOOST_AUTO_TEST_CASE(the_versions_an_update_makes_have_a_tag_of_their_own) {
  chain_thread t;
  t.update(state_update{log_of("by hand")}, "a").value();
  for (const auto& [name, v] : t.saved().checkpoint.channel_versions)
    BOOST_TEST(v.tag == (v.number == 3 ? 101u : 7u));
}

BOOST_AUTO_TEST_CASE(history_shows_an_update_as_the_result_of_the_task_that_waited) {
  chain_thread t;
  auto waiting = t.task_of("a");
  t.update(state_update{log_of("by hand")}, "a").value();
  auto writes = t.saved(checkpoint_name(3)).pending_writes;
  BOOST_TEST(text_list(channels_of(writes)) == (value{"log", "branch:to:b"}));
  BOOST_TEST(writes.at(0).task_id == waiting);
  BOOST_TEST(writes.at(0).task_path == "~__interrupt__, 0000000000");
  auto then = t.show(false, checkpoint_name(3));
  BOOST_CHECK(then.tasks.at(0).result == log_of("by hand"));
}

BOOST_AUTO_TEST_CASE(an_update_may_name_one_of_a_nodes_waiting_tasks) {
  state_graph<> g{{{"log", append}, {"x", last_value}}};
  g.add_node("fan", [](const state_view&) { return value{}; });
  g.add_node("work", [](const value& n) { return log_of(n.as_int() == 0 ? "ran" : "too"); });
  g.add_edge(START, "fan");
  g.add_conditional_edges("fan", [](const state_view&) {
    return std::vector<send>{{"work", value(0)}, {"work", value(1)}, {"work", value(2)}};
  });
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(g.compile());
  run_config config{.thread_id = "t", .interrupt_before = {"work"}};
  app.invoke({{"x", 1}}, config);
  auto waiting = app.get_state(config);
  BOOST_REQUIRE(waiting.tasks.size() == 3u);
  auto at = waiting.config.checkpoint_id;
  app.bulk_update_state(
    config, {{{log_of("last"), "work", waiting.tasks[2].id}, {log_of("first"), "work"}}});
  config.checkpoint_id = at;
  auto then = app.get_state(config);
  BOOST_CHECK(then.tasks.at(0).result == log_of("first"));
  BOOST_CHECK(!then.tasks.at(1).result);
  BOOST_CHECK(then.tasks.at(2).result == log_of("last"));
  check_refusal(
    app.try_bulk_update_state(config, {{{log_of("a"), "work", "id"}, {log_of("b"), "work", "id"}}}),
    errc::invalid_update, "update_state: two updates of one super-step for the task id");
  auto one = app.try_update_state({.thread_id = "t"}, log_of("mine"), "work", "my-task");
  BOOST_TEST(one.has_value());
}

BOOST_AUTO_TEST_CASE(updates_of_nodes_that_do_not_wait_get_ids_of_their_position) {
  chain_thread t;
  t.run_step(); // c4, where b waits
  t.update_all({{{log_of("A"), "a"}, {log_of("C"), "c"}}}).value();
  auto writes = t.saved(checkpoint_name(4)).pending_writes;
  BOOST_TEST(text_list(channels_of(writes)) == (value{"log", "branch:to:b", "log"}));
  BOOST_TEST(writes.at(0).task_id == "527ebfab-f21c-56f5-ab8a-f2135c86bd86");
  BOOST_TEST(writes.at(2).task_id == "4623b782-0d17-58f7-b242-6e29474aadb3");
  BOOST_TEST(writes.at(2).task_path == "~__interrupt__, 0000000001");
  BOOST_TEST(t.show(true).values["log"] == (value{"A", "C"}));
}

BOOST_AUTO_TEST_CASE(updates_of_one_superstep_apply_in_the_order_given) {
  chain_thread t;
  t.update_all({{{log_of("1"), "c"}, {log_of("2"), "a"}, {log_of("3"), "c"}}}).value();
  BOOST_TEST(t.show(true).values["log"] == (value{"1", "2", "3"}));
  BOOST_TEST(t.count() == 3u);
}

BOOST_AUTO_TEST_CASE(an_update_drops_other_waiting_tasks_and_what_finished_ones_wrote) {
  thread_probe t{join()};
  t.input({{"log", value::list()}});
  t.run_step();
  t.finish({{"a", log_of("a")}});
  t.update(state_update{log_of("by hand")}, "bad").value();
  auto saved = t.saved();
  BOOST_TEST(numbers(saved.checkpoint.channel_versions)
             == (value{{"__start__", 2},
                       {"branch:to:a", 3},
                       {"branch:to:bad", 3},
                       {"join:a+bad:z", 3},
                       {"log", 3}}));
  BOOST_TEST(as_map(saved.checkpoint.channel_values)
             == (value{{"join:a+bad:z", value::list({"bad"})}, {"log", value::list({"by hand"})}}));
  BOOST_TEST(next_of(t) == value::list());
  BOOST_TEST(text_list(channels_of(t.saved(checkpoint_name(3)).pending_writes))
             == (value{"log", "join:a+bad:z", "log", "join:a+bad:z"}));
}

BOOST_AUTO_TEST_CASE(an_update_on_a_new_thread_acts_as_start) {
  thread_probe t{chain()};
  t.update(state_update{{"x", 5}}).value();
  auto saved = t.saved();
  BOOST_TEST(saved.parent_id == "");
  BOOST_TEST(saved.metadata
             == (value{{"source", "update"}, {"step", 0}, {"parents", value::map()}}));
  BOOST_TEST(numbers(saved.checkpoint.channel_versions) == (value{{"branch:to:a", 1}, {"x", 1}}));
  BOOST_TEST(numbers(saved.checkpoint.versions_seen) == (value{{"__start__", value::map()}}));
  BOOST_TEST(saved.pending_writes.empty());
  BOOST_TEST(next_of(t) == value::list({"a"}));
  BOOST_TEST(t.count() == 1u);
}

BOOST_AUTO_TEST_CASE(an_update_on_a_new_thread_may_name_any_node) {
  thread_probe t{chain()};
  t.update(state_update{{"x", 5}}, "b").value();
  BOOST_TEST(next_of(t) == value::list({"c"}));
}

BOOST_AUTO_TEST_CASE(an_update_as_start_writes_input_keys_only) {
  state_graph<> g{schema{{"x", last_value}, {"y", last_value}}};
  g.input_schema({{"x", last_value}});
  g.add_node("a", say_nothing);
  g.add_edge(START, "a");
  thread_probe t{g.compile()};
  t.update(state_update{{"x", 1}, {"y", 2}}, START).value();
  BOOST_TEST(t.show(true).values == (value{{"x", 1}}));
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_dropped) {
  chain_thread t;
  t.update(state_update{{"nowhere", 1}, {"x", 2}}, "a").value();
  BOOST_TEST(t.show(true).values["x"] == value(2));
}

BOOST_AUTO_TEST_CASE(an_update_without_values_runs_the_node_s_edges) {
  chain_thread t;
  t.update(std::nullopt, "b").value();
  BOOST_TEST(next_of(t) == value::list({"c"}));
  BOOST_TEST(t.show(true).values == (value{{"log", value::list()}, {"x", 0}}));
}

BOOST_AUTO_TEST_CASE(an_update_that_names_no_node_acts_as_the_one_that_ran_last) {
  chain_thread t;
  t.run_step();
  t.run_step();
  t.update(state_update{{"x", 5}}).value();
  BOOST_TEST(next_of(t) == value::list({"c"}));
}

BOOST_AUTO_TEST_CASE(a_second_update_acts_as_the_same_node_again) {
  chain_thread t;
  t.run_step();
  t.update(state_update{{"x", 5}}).value();
  t.update(state_update{{"x", 6}}).value();
  BOOST_TEST(next_of(t) == value::list({"b"}));
  BOOST_TEST(t.show(true).values["x"] == value(6));
}

BOOST_AUTO_TEST_CASE(a_second_update_of_a_thread_that_never_ran_acts_as_start) {
  thread_probe t{chain()};
  t.update(state_update{{"x", 5}}).value();
  t.update(state_update{{"x", 6}}).value();
  BOOST_TEST(next_of(t) == value::list({"a"}));
}

BOOST_AUTO_TEST_CASE(after_parallel_nodes_the_node_must_be_named) {
  thread_probe t{join()};
  t.input({{"x", 1}});
  t.run_step();
  t.run_step();
  check_refusal(t.update(state_update{{"x", 5}}), errc::invalid_update,
                "Ambiguous update, specify as_node");
  BOOST_TEST(t.count() == 3u);
}

BOOST_AUTO_TEST_CASE(a_route_sees_the_state_with_the_update) {
  auto g = quiet_graph({"a", "low", "high"}, {{START, "a"}});
  g.add_conditional_edges("a", [](const state_view& s, context& ctx) {
    BOOST_TEST(ctx.remaining_steps() == 2);
    BOOST_TEST(!ctx.is_last_step());
    BOOST_TEST(s["log"] == (value{"before", "update"}));
    return s["x"].as_int() > 5 ? "high" : "low";
  });
  thread_probe t{g.compile()};
  t.input({{"x", 1}, {"log", value::list({"before"})}});
  t.run_step();
  t.update(state_update{{"x", 9}, {"log", value::list({"update"})}}, "a").value();
  BOOST_TEST(next_of(t) == value::list({"high"}));
}

BOOST_AUTO_TEST_CASE(a_route_may_send) {
  auto g = quiet_graph({"plan", "work"}, {{START, "plan"}});
  g.add_conditional_edges("plan", [](const state_view& s) {
    std::vector<send> out;
    for (const auto& item : s["log"].items())
      out.push_back({"work", item});
    return out;
  });
  thread_probe t{g.compile()};
  t.update(state_update{{"log", value{"p", "q"}}}, "plan").value();
  BOOST_TEST(as_map(t.saved().checkpoint.channel_values)["__pregel_tasks"]
             == value::list({value::of(send{"work", "p"}), value::of(send{"work", "q"})}));
  BOOST_TEST(next_of(t) == (value{"work", "work"}));
}

BOOST_AUTO_TEST_CASE(a_route_that_fails_or_asks_leaves_nothing_behind) {
  auto g = quiet_graph({"bad", "asks"}, {{START, "bad"}});
  g.add_conditional_edges("bad", [](const state_view&) -> std::string {
    throw node_error{"ValueError", "no way"};
  });
  g.add_conditional_edges("asks", [](const state_view&, context& ctx) {
    ctx.interrupt("where to?");
    return END;
  });
  thread_probe t{g.compile()};
  t.input({{"x", 1}});
  auto failed = t.update(state_update{{"x", 5}}, "bad");
  BOOST_REQUIRE(!failed);
  BOOST_TEST(reference_name(failed.error()) == "ValueError");
  auto asked = t.update(state_update{{"x", 5}}, "asks");
  BOOST_REQUIRE(!asked);
  BOOST_CHECK(asked.error().code() == errc::invalid_update);
  BOOST_TEST(t.count() == 1u);
  BOOST_TEST(t.saved().pending_writes.empty());
}

BOOST_AUTO_TEST_CASE(an_update_a_channel_refuses_leaves_nothing_behind) {
  chain_thread t;
  auto refused = t.update_all({{{state_update{{"x", 1}}, "a"}, {state_update{{"x", 2}}, "b"}}});
  BOOST_REQUIRE(!refused);
  BOOST_CHECK(refused.error().code() == errc::invalid_update);
  BOOST_TEST(t.count() == 2u);
  BOOST_TEST(t.saved().pending_writes.empty());
}

BOOST_AUTO_TEST_CASE(values_that_are_no_map_are_refused) {
  chain_thread t;
  auto refused = t.update(state_update{value(5)}, "a");
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message()
             == "update_state as node `a`: a map of channels is expected: it is 5");
}

BOOST_AUTO_TEST_CASE(the_update_of_an_older_checkpoint_makes_a_branch_and_leaves_it_as_it_was) {
  chain_thread t;
  t.run_step({{"a", log_of("a")}});
  t.run_step({{"b", log_of("b")}});
  t.update(state_update{log_of("fork")}, "a", checkpoint_name(3)).value();
  auto saved = t.saved();
  BOOST_TEST(saved.parent_id == checkpoint_name(3));
  BOOST_TEST(saved.metadata["step"] == value(1));
  BOOST_TEST(t.saved(checkpoint_name(3)).pending_writes.size() == 2u);
  BOOST_CHECK(t.show(false, checkpoint_name(3)).tasks.at(0).result == log_of("a"));
  BOOST_TEST(t.show(false, checkpoint_name(4)).values["log"] == value::list({"a"}));
  BOOST_TEST(t.show(true).values["log"] == value::list({"fork"}));
}

BOOST_AUTO_TEST_CASE(the_newest_checkpoint_addressed_by_id_keeps_the_update_s_writes) {
  chain_thread t;
  t.update(state_update{log_of("u")}, "a", checkpoint_name(3)).value();
  BOOST_TEST(t.saved(checkpoint_name(3)).pending_writes.size() == 2u);
}

BOOST_AUTO_TEST_CASE(supersteps_build_on_one_another) {
  chain_thread t;
  t.update_all({{{log_of("1"), "a"}}, {{log_of("2"), "b"}}}).value();
  auto saved = t.saved();
  BOOST_TEST(saved.ref.checkpoint_id == checkpoint_name(5));
  BOOST_TEST(saved.parent_id == checkpoint_name(4));
  BOOST_TEST(saved.metadata["step"] == value(2));
  BOOST_TEST(t.saved(checkpoint_name(4)).pending_writes.size() == 2u);
  BOOST_TEST(t.show(true).values["log"] == (value{"1", "2"}));
}

BOOST_AUTO_TEST_CASE(only_the_first_superstep_can_stand_on_an_older_checkpoint) {
  chain_thread t;
  t.run_step();
  t.update_all({{{log_of("1"), "a"}}, {{log_of("2"), "b"}}}, checkpoint_name(3)).value();
  BOOST_TEST(t.saved(checkpoint_name(3)).pending_writes.size() == 1u); // of the run
  BOOST_TEST(t.saved(checkpoint_name(5)).pending_writes.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_superstep_that_fails_leaves_those_before_it) {
  chain_thread t;
  BOOST_TEST(!t.update_all({{{log_of("1"), "a"}}, {{log_of("2"), "nobody"}}}));
  BOOST_TEST(t.show(true).values["log"] == value::list({"1"}));
}

BOOST_AUTO_TEST_CASE(clearing_ends_what_waits_and_keeps_what_is_finished) {
  thread_probe t{join()};
  t.input({{"log", value::list()}});
  t.run_step();
  t.finish({{"a", log_of("a")}});
  t.keep(std::string{names::null_task_id}, "x", 9);
  t.update(std::nullopt, END).value();
  auto saved = t.saved();
  BOOST_TEST(saved.metadata
             == (value{{"source", "update"}, {"step", 1}, {"parents", value::map()}}));
  BOOST_TEST(saved.parent_id == checkpoint_name(3));
  BOOST_TEST(t.show(true).values == (value{{"log", value::list({"a"})}, {"x", 9}}));
  BOOST_TEST(next_of(t) == value::list());
  BOOST_TEST(!saved.checkpoint.updated_channels.has_value());
}

BOOST_AUTO_TEST_CASE(clearing_a_breakpoint_stores_the_reference_s_record) {
  thread_probe t{quiet_graph({"a", "b"}, {{START, "a"}, {"a", "b"}}).compile()};
  t.input({{"log", value::list()}});
  t.run_step();
  t.run_step({{"a", log_of("a")}});
  t.update(std::nullopt, END).value();
  auto saved = t.saved();
  BOOST_TEST(numbers(saved.checkpoint.channel_versions)
             == (value{{"__start__", 2}, {"branch:to:a", 3}, {"branch:to:b", 4}, {"log", 3}}));
  BOOST_TEST(numbers(saved.checkpoint.versions_seen)
             == (value{{"__input__", value::map()},
                       {"__start__", {{"__start__", 1}}},
                       {"a", {{"branch:to:a", 2}}},
                       {"b", {{"branch:to:b", 3}}}}));
  BOOST_TEST(as_map(saved.checkpoint.channel_values) == log_of("a"));
  BOOST_TEST(t.saved(checkpoint_name(4)).pending_writes.empty());
}

BOOST_AUTO_TEST_CASE(clearing_a_new_thread_makes_an_empty_checkpoint) {
  thread_probe t{chain()};
  t.update(std::nullopt, END).value();
  BOOST_TEST(t.saved().checkpoint.channel_versions.empty());
  BOOST_TEST(t.saved().metadata["step"] == value(0));
}

BOOST_AUTO_TEST_CASE(an_update_as_input_on_a_new_thread_waits_for_a_run) {
  thread_probe t{chain()};
  t.update(state_update{{"x", 5}}, "__input__").value();
  auto saved = t.saved();
  BOOST_TEST(saved.metadata
             == (value{{"source", "input"}, {"step", -1}, {"parents", value::map()}}));
  BOOST_TEST(numbers(saved.checkpoint.versions_seen) == (value{{"__input__", value::map()}}));
  BOOST_TEST(as_map(saved.checkpoint.channel_values) == (value{{"__start__", {{"x", 5}}}}));
  BOOST_TEST(saved.pending_writes.empty());
  BOOST_TEST(next_of(t) == value::list({"__start__"}));
}

BOOST_AUTO_TEST_CASE(an_update_as_input_leaves_waiting_tasks_armed) {
  chain_thread t;
  t.update(state_update{{"x", 5}}, "__input__").value();
  BOOST_TEST(t.saved().metadata["step"] == value(1));
  BOOST_TEST(next_of(t) == (value{"__start__", "a"}));
  auto writes = t.saved(checkpoint_name(3)).pending_writes;
  BOOST_REQUIRE(writes.size() == 1);
  BOOST_TEST(writes[0].channel == "__start__");
  BOOST_TEST(writes[0].task_id == uuid5(checkpoint_name(3), "__input__"));
  BOOST_TEST(writes[0].task_path == "");
  BOOST_TEST(t.show(false, checkpoint_name(3)).tasks.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_copy_is_a_sibling_with_the_same_state) {
  chain_thread t;
  t.run_step({{"a", log_of("a")}});
  auto made = t.update(std::nullopt, "__copy__").value();
  auto copy = t.saved(), original = t.saved(checkpoint_name(4));
  BOOST_TEST(copy.ref.checkpoint_id == made.checkpoint_id);
  BOOST_TEST(copy.parent_id == checkpoint_name(3));
  BOOST_TEST(copy.metadata == (value{{"source", "fork"}, {"step", 2}, {"parents", value::map()}}));
  BOOST_CHECK(copy.checkpoint.channel_versions == original.checkpoint.channel_versions);
  BOOST_CHECK(copy.checkpoint.versions_seen == original.checkpoint.versions_seen);
  BOOST_TEST(as_map(copy.checkpoint.channel_values) == as_map(original.checkpoint.channel_values));
  BOOST_TEST(!copy.checkpoint.updated_channels.has_value());
  BOOST_TEST(original.pending_writes.empty());
  BOOST_TEST(next_of(t) == value::list({"b"}));
}

BOOST_AUTO_TEST_CASE(the_first_checkpoint_can_be_copied) {
  thread_probe t{chain()};
  t.input({{"x", 1}});
  t.update(std::nullopt, "__copy__").value();
  BOOST_TEST(t.saved().parent_id == "");
  BOOST_TEST(t.saved().metadata["step"] == value(0));
}

BOOST_AUTO_TEST_CASE(an_update_goes_to_the_nodes_that_it_names_and_along_its_edges) {
  chain_thread t;
  outside_update update{.values = state_update{{"x", 1}}, .as_node = "a", .goto_ = {"c", END}};
  t.update_all({{update}}).value();
  BOOST_TEST(next_of(t) == value::list({"b", "c"}));
  BOOST_TEST(t.show(true).values["x"] == value(1));
  outside_update only{.as_node = "c", .goto_ = send{"a", {{"x", 5}}}};
  t.update_all({{only}}).value();
  BOOST_TEST(next_of(t) == value::list({"a"}));
}

BOOST_AUTO_TEST_CASE(only_a_node_goes_to_nodes_and_only_to_known_ones) {
  chain_thread t;
  for (const std::string as : {"__input__", "__copy__", "__end__"})
    check_refusal(t.update_all({{{.as_node = as, .goto_ = "a"}}}), errc::invalid_update,
                  "update_state as `" + as + "`: only a node of a graph goes to nodes");
  auto unknown = t.update_all({{{.as_node = "a", .goto_ = "nowhere"}}});
  BOOST_REQUIRE(!unknown);
  BOOST_CHECK(unknown.error().code() == errc::invalid_update);
  BOOST_TEST(unknown.error().message().find("`nowhere`") != std::string::npos);
  BOOST_TEST(t.count() == 2u);
}

BOOST_AUTO_TEST_CASE(a_copy_may_be_updated_at_once) {
  chain_thread t;
  value items{value{{{"x", 1}}, "c"}, value{log_of("A"), "a"}, value{log_of("C"), "c"}};
  t.update(state_update{items}, "__copy__").value();
  BOOST_TEST(t.count() == 4u);
  auto copy = t.saved(checkpoint_name(4)), updated = t.saved();
  BOOST_TEST(copy.parent_id == checkpoint_name(2));
  BOOST_TEST(updated.parent_id == checkpoint_name(4));
  BOOST_TEST(updated.metadata["source"] == value("update"));
  BOOST_TEST(updated.metadata["step"] == value(2));
  BOOST_TEST(t.show(true).values == (value{{"x", 1}, {"log", value{"C", "A"}}})); // by node
  auto then = t.show(false, checkpoint_name(4));
  BOOST_CHECK(then.tasks.at(0).result == log_of("A"));
  BOOST_TEST(t.saved(checkpoint_name(3)).pending_writes.empty());
}

BOOST_AUTO_TEST_CASE(a_copy_whose_updates_are_refused_is_not_made) {
  chain_thread t;
  check_refusal(t.update(state_update{value::list({5})}, "__copy__"), errc::invalid_update,
                "Invalid update item: 5 when copying checkpoint");
  check_refusal(t.update(state_update{value::list({value{log_of("A"), "nobody"}})}, "__copy__"),
                errc::invalid_update, "Node nobody does not exist");
  BOOST_TEST(t.count() == 2u);
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused_with_the_reference_s_text) {
  chain_thread t;
  auto update = [](std::string as) {
    return outside_update{state_update{{"x", 1}}, std::move(as)};
  };
  check_refusal(t.update_all({}), errc::invalid_config, "No supersteps provided");
  check_refusal(t.update_all({{update("a")}, {}}), errc::invalid_config, "No updates provided");
  auto refuse = [&t](std::vector<outside_update> step, std::string_view message) {
    check_refusal(t.update_all({std::move(step)}), errc::invalid_update, message);
  };
  refuse({{std::nullopt, END}, update("a")}, "Cannot apply multiple updates when clearing state");
  refuse({update("__input__"), update("a")},
         "Cannot apply multiple updates when updating as input");
  refuse({update("__copy__"), update("a")}, "Cannot copy checkpoint with multiple updates");
  refuse({{std::nullopt, "__input__"}}, "Received no input writes for __start__");
  refuse({update("nobody")}, "Node nobody does not exist");
  refuse({update(END)}, "Node __end__ does not exist");
  refuse({update("a"), update("")}, "as_node is required when applying multiple updates");
  refuse({update("a"), update("__input__")}, "Node __input__ does not exist");
  BOOST_TEST(t.count() == 2u);
  thread_probe fresh{chain()};
  check_refusal(fresh.update(std::nullopt, "__copy__"), errc::invalid_update,
                "Cannot copy a non-existent checkpoint");
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_is_not_there_becomes_the_parent_of_a_fresh_start) {
  thread_probe t{chain()};
  t.update(state_update{{"x", 1}}, "a", checkpoint_name(77)).value();
  BOOST_TEST(t.saved().parent_id == checkpoint_name(77));
  BOOST_TEST(t.saved().metadata["step"] == value(0));
}

BOOST_AUTO_TEST_CASE(the_config_s_scalars_go_into_the_metadata) {
  chain_thread t;
  t.config.metadata = {{"m", std::string{"v\0w", 3}}, {"step", 99}, {"list", value::list()}};
  t.config.configurable = {{"user", "u1"}, {"m", "other"}, {"__hidden", 1}, {"checkpoint_ns", ""}};
  t.update(state_update{{"x", 1}}, "a").value();
  BOOST_TEST(
    t.saved().metadata
    == (value{
      {"source", "update"}, {"step", 1}, {"parents", value::map()}, {"m", "vw"}, {"user", "u1"}}));
}

BOOST_AUTO_TEST_CASE(parents_are_those_of_the_checkpoint_that_is_updated) {
  thread_probe t{chain()};
  checkpoint_put first;
  first.checkpoint.id = checkpoint_name(2);
  first.metadata = {{"source", "loop"}, {"step", 4}, {"parents", {{"", checkpoint_name(1)}}}};
  t.store->put({"t", "", ""}, first).value();
  t.made = 2;
  for (auto* as : {"a", "__copy__", "__input__"}) {
    t.update(state_update{{"x", 1}}, as, checkpoint_name(2)).value();
    BOOST_TEST(t.saved().metadata["parents"] == (value{{"", checkpoint_name(1)}}));
  }
}

BOOST_AUTO_TEST_CASE(a_single_value_graph_takes_a_bare_value) {
  state_graph<> g{schema{{"__root__", append}}};
  g.add_node("a", say_nothing);
  g.add_edge(START, "a");
  thread_probe t{g.compile()};
  t.update(state_update{value::list({1})}, START).value();
  t.update(state_update{value::list({2})}, "a").value();
  BOOST_TEST(t.show(true).values == (value{1, 2}));
  t.update(std::nullopt, START).value();
  BOOST_TEST(t.show(true).values == (value{1, 2}));
  t.update(state_update{value::list({3})}, "__input__").value();
  BOOST_TEST(as_map(t.saved().checkpoint.channel_values)["__start__"] == value::list({3}));
}

BOOST_AUTO_TEST_CASE(what_the_graph_does_not_know_stays_in_the_checkpoint) {
  chain_thread t;
  auto odd = t.saved();
  checkpoint_put next{odd.ref.checkpoint_id, odd.checkpoint, odd.metadata, {"zz"}};
  next.checkpoint.id = checkpoint_name(++t.made);
  next.checkpoint.channel_values.emplace_back("zz", 1);
  next.checkpoint.channel_versions.emplace_back("zz", version{9, 1});
  next.checkpoint.versions_seen.emplace_back("zznode", named<version>{{"zz", {9, 1}}});
  t.store->put({"t", "", ""}, next).value();
  t.update(state_update{{"x", 1}}, "a").value();
  auto saved = t.saved();
  BOOST_TEST(numbers(saved.checkpoint.channel_versions)["zz"] == value(9));
  BOOST_TEST(numbers(saved.checkpoint.channel_versions)["x"] == value(10));
  BOOST_TEST(as_map(saved.checkpoint.channel_values)["zz"] == value(1));
  BOOST_TEST(numbers(saved.checkpoint.versions_seen)["zznode"] == (value{{"zz", 9}}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
