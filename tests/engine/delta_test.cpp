// Delta channels as the coordinator sees them: rebuilding their values, when a checkpoint holds
// one, the versions that move for it, durability exit, ids of messages.
#include "engine/apply.hpp"
#include "engine/delta_book.hpp"
#include "engine/exit_writes.hpp"
#include "engine/find_checkpoint.hpp"
#include "engine/message_writes.hpp"
#include "engine/stored_writes.hpp"

#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe {
namespace {

value text(const char* t) {
  return value::list({t});
}

value overwrite_of(value v) {
  return value::extension(value_kind::overwrite, std::move(v));
}

value snapshot_of(value v) {
  return value::extension(value_kind::delta_snapshot, std::move(v));
}

std::shared_ptr<const graph_plan> plan_of(schema channels) {
  state_graph<> g{std::move(channels)};
  g.add_node("a", [](const state_view&) { return value{}; });
  g.add_edge(START, "a");
  return g.try_compile().value().plan();
}

const std::shared_ptr<const graph_plan>& plan() {
  static const auto made = plan_of({{"x", last_value},
                                    {"log", delta(append, 2)},
                                    {"old", append},
                                    {"messages", delta(add_messages)}});
  return made;
}

channel_index channel(std::string_view name) {
  return plan()->find_channel(name);
}

task_write write(std::string_view name, value v) {
  return restore_write(*plan(), std::string{name}, std::move(v));
}

pending_write pending(std::string_view name, std::string task = "task") {
  return {std::move(task), std::string{name}, text("w"), ""};
}

/// A thread in memory with its book, and a saver for what it stores.
struct book_probe {
  explicit book_probe(const value& metadata = {}) {
    reset_state(state, plan(), 7);
    book.begin(*plan(), metadata);
  }

  /// A super-step that writes to these channels.
  void step(std::initializer_list<const char*> channels) {
    task_write_list writes;
    for (const auto* name : channels)
      writes.push_back(write(name, text("w")));
    const applied_task task{applied_task::kind::push, 1, &writes};
    auto updated = apply_here(state, {&task, 1}, true).value();
    book.count(&updated);
  }

  /// The checkpoint stored now.
  checkpoint store() {
    auto snapshots = book.settle(state);
    new_versions.clear();
    auto out = take_checkpoint(state, nullptr, new_versions);
    store_snapshots(state, snapshots, out);
    return out;
  }

  std::string snapshots_of_next() {
    std::string out;
    for (const auto& [name, v] : store().channel_values)
      if (v.is(value_kind::delta_snapshot))
        out += name + " ";
    return out;
  }

  value counters() const { return book.counted(value::map())["counters_since_delta_snapshot"]; }
  std::uint64_t at(std::string_view name) const { return state.versions[channel(name)].number; }

  thread_state state;
  delta_book book;
  std::vector<std::string> new_versions;
};

} // namespace

BOOST_AUTO_TEST_SUITE(engine_delta)

// ---- reading --------------------------------------------------------------------------------

checkpoint checkpoint_of(named<value> values, named<version> versions) {
  checkpoint out;
  out.channel_values = std::move(values);
  out.channel_versions = std::move(versions);
  return out;
}

BOOST_AUTO_TEST_CASE(channels_that_were_written_and_hold_no_value_are_replayed) {
  auto all = checkpoint_of({},
                           {{"branch:to:a", {1, 1}}, {"log", {1, 1}}, {"old", {1, 1}}, {"x", {}}});
  BOOST_TEST((channels_to_replay(*plan(), all) == std::vector<std::string>{"log", "old"}));
  auto stored = checkpoint_of({{"log", snapshot_of(text("a"))}, {"old", text("a")}},
                              {{"log", {1, 1}}, {"old", {1, 1}}});
  BOOST_TEST(channels_to_replay(*plan(), stored).empty());
  BOOST_TEST(channels_to_replay(*plan(), {}).empty());
}

// c1 … c4, each but c1 the child of the one before; each wrote its name to the log.
std::shared_ptr<saver> saved_thread() {
  auto store = make_memory_saver();
  for (int n = 1; n <= 4; ++n) {
    auto id = "c" + std::to_string(n);
    checkpoint_put put;
    put.parent_id = n == 1 ? "" : "c" + std::to_string(n - 1);
    put.checkpoint.id = id;
    put.checkpoint.channel_versions = {{"log", {static_cast<unsigned>(n), 7}}};
    put.metadata = value::map();
    put.new_versions = {"log"};
    if (n == 2)
      put.checkpoint.channel_values = {{"log", snapshot_of(text("s"))}};
    store->put({"t", "", ""}, put).value();
    store->put_writes({"t", "", id}, {"task", "", {{"log", text(id.c_str())}}}).value();
  }
  return store;
}

value log_of(const checkpoint_tuple& tuple) {
  return tuple.checkpoint.channel_values.at(0).second;
}

BOOST_AUTO_TEST_CASE(found_checkpoint_has_the_values_of_its_history) {
  auto store = saved_thread();
  auto find = [&](const char* id) {
    return *find_checkpoint(*plan(), *store, {"t", "", id}).value();
  };
  BOOST_TEST(log_of(find("")) == value::list({"s", "c2", "c3"}));
  BOOST_TEST(log_of(find("c3")) == value::list({"s", "c2"}));
  BOOST_TEST(log_of(find("c2")) == snapshot_of(text("s")));
  BOOST_TEST(log_of(find("c1")) == value::list());
  BOOST_TEST(!find_checkpoint(*plan(), *store, {"t", "", "c9"}).value().has_value());
}

BOOST_AUTO_TEST_CASE(listed_checkpoints_have_the_values_of_their_histories) {
  auto store = saved_thread();
  auto list = list_checkpoints(*plan(), *store, {.thread_id = "t"}).value();
  BOOST_REQUIRE(list.size() == 4u);
  BOOST_TEST(log_of(list[0]) == value::list({"s", "c2", "c3"}));
  BOOST_TEST(log_of(list[3]) == value::list());
  auto newest = list_checkpoints(*plan(), *store, {.thread_id = "t", .limit = 1}).value();
  BOOST_TEST(log_of(newest.at(0)) == value::list({"s", "c2", "c3"}));
}

BOOST_AUTO_TEST_CASE(history_that_the_reducer_refuses_is_an_error) {
  auto store = saved_thread();
  store->put_writes({"t", "", "c3"}, {"other", "", {{"log", 1}}}).value();
  auto found = find_checkpoint(*plan(), *store, {"t", "", ""});
  BOOST_TEST((found.error().code() == errc::invalid_update));
}

// ---- the cadence ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(book_of_a_graph_without_delta_channels_is_idle) {
  auto plain = plan_of({{"x", last_value}});
  delta_book book;
  book.begin(*plain, {});
  BOOST_TEST(!book.active());
  book.count(static_cast<const std::vector<channel_index>*>(nullptr));
  const pending_write w = pending("x");
  book.force({&w, 1});
  BOOST_TEST(book.counted(value::map()) == value::map());
}

BOOST_AUTO_TEST_CASE(value_is_stored_after_so_many_updates) {
  book_probe p;
  p.step({"log"});
  BOOST_TEST(p.snapshots_of_next() == "");
  BOOST_TEST(p.counters()["log"] == (value{1, 1}));
  p.step({"x"});
  BOOST_TEST(p.snapshots_of_next() == "");
  BOOST_TEST(p.counters()["log"] == (value{1, 2}));
  p.step({"log"});
  BOOST_TEST(p.snapshots_of_next() == "log ");
  BOOST_TEST(p.counters()["log"].is_null());
  BOOST_TEST(p.counters()["messages"] == (value{0, 3}));
}

BOOST_AUTO_TEST_CASE(value_is_stored_after_so_many_super_steps_in_any_case) {
  auto counters = [](std::int64_t n) {
    return value::map({{"counters_since_delta_snapshot", value::map({{"log", value{0, n}}})}});
  };
  book_probe p{counters(limits::delta_supersteps_max - 2)};
  p.step({"log"});
  BOOST_TEST(p.snapshots_of_next() == "");
  p.step({"x"});
  BOOST_TEST(p.snapshots_of_next() == "log ");
  book_probe never{counters(limits::delta_supersteps_max)};
  never.step({"x"});
  BOOST_TEST(never.snapshots_of_next() == ""); // it has no version
  BOOST_TEST(never.counters()["log"][1] == value(limits::delta_supersteps_max + 1));
}

BOOST_AUTO_TEST_CASE(counters_go_on_from_the_metadata_of_a_checkpoint) {
  book_probe p;
  p.step({"log"});
  auto metadata = p.book.counted(value::map({{"source", "loop"}}));
  BOOST_TEST(metadata["source"] == "loop");
  book_probe next{metadata};
  next.step({"log"});
  BOOST_TEST(next.snapshots_of_next() == "log ");
}

BOOST_AUTO_TEST_CASE(update_from_outside_counts_what_it_wrote) {
  book_probe p;
  p.book.count(task_write_list{write("log", text("a")), write("x", 1), write("log", text("b"))});
  BOOST_TEST(p.counters()["log"] == (value{1, 1}));
  BOOST_TEST(p.counters()["messages"] == (value{0, 1}));
}

// ---- forced ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(value_is_stored_once_when_it_is_forced) {
  auto forced_by = [](auto force) {
    book_probe p;
    p.step({"log", "messages"});
    p.store();
    force(p);
    p.step({"x"});
    auto out = p.snapshots_of_next();
    p.step({"x"});
    return out + "| " + p.snapshots_of_next();
  };
  BOOST_TEST(
    forced_by([](auto& p) {
      const std::vector<pending_write> named{pending("x"), pending("log"), pending("gone")};
      p.book.force(named);
    })
    == "log | ");
  BOOST_TEST(forced_by([](auto& p) {
               p.book.force({write("messages", 1), write("gone", 1)});
             })
             == "messages | ");
  BOOST_TEST(forced_by([](auto& p) {
               p.book.force_overwritten({write("messages", text("a")),
                                         write("log", overwrite_of(text("a"))),
                                         write("x", overwrite_of(1))});
             })
             == "log | ");
  BOOST_TEST(forced_by([](auto& p) { p.book.force_all(p.state); }) == "log messages | ");
}

BOOST_AUTO_TEST_CASE(due_changes_nothing) {
  book_probe p;
  p.step({"log"});
  p.book.force({write("log", 1)});
  BOOST_TEST((p.book.due(p.state) == std::vector{channel("log")}));
  BOOST_TEST((p.book.due(p.state) == std::vector{channel("log")}));
  BOOST_TEST(p.at("log") == 1u);
}

// ---- versions -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(version_that_moved_in_the_step_is_kept_for_the_value) {
  book_probe p;
  p.step({"log"});
  p.book.force({write("log", 1)});
  auto stored = p.store();
  BOOST_TEST(p.at("log") == 1u);
  BOOST_TEST((stored.channel_values == named<value>{{"log", snapshot_of(text("w"))}}));
  BOOST_TEST((p.new_versions == std::vector<std::string>{"log"}));
  BOOST_TEST(stored.versions_seen.size() == 1u); // a, no marks
}

BOOST_AUTO_TEST_CASE(version_that_did_not_move_moves_for_the_value_alone) {
  book_probe p;
  p.step({"log"});
  p.step({"x"});
  p.store();
  p.state.interrupt_seen = p.state.versions;
  p.book.force({write("log", 1)});
  auto stored = p.store();
  BOOST_TEST(p.at("log") == 2u); // from 1, whatever others are at
  BOOST_TEST((p.new_versions == std::vector<std::string>{"log"}));
  const version before{1, 7};
  const version after{2, 7};
  BOOST_TEST(((*p.state.interrupt_seen)[channel("log")] == after));
  BOOST_TEST(has_bumps(p.state));
  named<version> marks{{"__interrupt__:log", before}, {"__interrupt__|log", after}};
  auto found = std::find_if(stored.versions_seen.begin(), stored.versions_seen.end(),
                            [](const auto& e) { return e.first == "__snapshot_bumps__"; });
  BOOST_REQUIRE((found != stored.versions_seen.end()));
  BOOST_TEST((found->second == marks));

  auto really = seen_without_bumps(p.state);
  BOOST_TEST(((*really.interrupt_seen)[channel("log")] == before));
  BOOST_TEST(!has_bumps(really));

  // Twice in a row: what was really seen stays.
  p.book.force({write("log", 1)});
  p.store();
  BOOST_TEST(((*seen_without_bumps(p.state).interrupt_seen)[channel("log")] == before));
  BOOST_TEST(((*p.state.interrupt_seen)[channel("log")] == version{3, 7}));
}

BOOST_AUTO_TEST_CASE(version_that_is_seen_again_is_not_undone) {
  book_probe p;
  p.step({"log"});
  p.state.interrupt_seen = p.state.versions;
  p.store();
  p.book.force({write("log", 1)});
  p.store();
  p.step({"log"});
  p.state.interrupt_seen = p.state.versions; // resumed again, after a write
  auto really = seen_without_bumps(p.state);
  BOOST_TEST(((*really.interrupt_seen)[channel("log")] == p.state.versions[channel("log")]));
}

BOOST_AUTO_TEST_CASE(channel_that_was_never_written_gets_its_first_version) {
  book_probe p;
  p.step({"x"});
  p.state.interrupt_seen = p.state.versions;
  p.book.force({write("log", 1)});
  auto stored = p.store();
  BOOST_TEST(p.at("log") == 1u);
  BOOST_TEST((stored.channel_values[0].second == snapshot_of(value::list())));
  BOOST_TEST(((*p.state.interrupt_seen)[channel("log")].number == 1u));
  BOOST_TEST(((*seen_without_bumps(p.state).interrupt_seen)[channel("log")].number == 0u));
}

BOOST_AUTO_TEST_CASE(nodes_of_another_graph_have_seen_the_version_too) {
  book_probe p;
  p.step({"log"});
  p.store();
  p.state.foreign_seen = {{"gone", {{"log", {1, 7}}}}, {"other", {{"x", {1, 7}}}}};
  p.book.force({write("log", 1)});
  p.store();
  BOOST_TEST((p.state.foreign_seen[0].second == named<version>{{"log", {2, 7}}}));
  BOOST_TEST((p.state.foreign_seen[1].second == named<version>{{"x", {1, 7}}}));
  auto really = seen_without_bumps(p.state);
  BOOST_TEST((really.foreign_seen
              == named<named<version>>{{"gone", {{"log", {1, 7}}}}, {"other", {{"x", {1, 7}}}}}));
}

// ---- durability exit ------------------------------------------------------------------------

const std::string task_a = "ba5e940d-1c52-e615-cfa6-b6011e8a9bf8";
const std::string null_task = "00000000-0000-0000-0000-000000000000";

BOOST_AUTO_TEST_CASE(ids_of_exit_writes_sort_as_their_steps_ran) {
  BOOST_TEST(exit_task_id(3, task_a) == "00000003-1c52-e615-cfa6-b6011e8a9bf8");
  BOOST_TEST(exit_task_id(0, null_task) == "00000000-0000-0000-0000-000000000001");
  BOOST_TEST(exit_task_id(2, null_task) == "00000002-0000-0000-0000-000000000000");
  BOOST_TEST(late_task_id(1, task_a) == "ffffffff-0000-0001-cfa6-b6011e8a9bf8");
  BOOST_TEST(late_task_id(0x12345, task_a) == "ffffffff-0001-2345-cfa6-b6011e8a9bf8");
  BOOST_TEST(late_task_path(1, "~__pregel_pull, n0") == "~~0000000001~__pregel_pull, n0");
}

std::string shown(const std::vector<task_writes>& tasks) {
  std::string out;
  for (const auto& task : tasks) {
    out += task.task_path + " " + task.task_id.substr(0, 8);
    for (const auto& [name, v] : task.writes)
      out += " " + name + to_json(v);
    out += "\n";
  }
  return out;
}

BOOST_AUTO_TEST_CASE(exit_writes_keep_what_goes_to_delta_channels) {
  exit_writes kept;
  kept.begin(*plan(), {});
  kept.collect(0, null_task, "", {write("log", text("i"))});
  kept.collect(0, task_a, "~p", {write("x", 1), write("log", text("a")), write("gone", 1)});
  kept.end_step();
  kept.collect(1, task_a, "~p", {write("messages", text("m")), write("log", text("b"))});
  kept.collect(1, task_a, "~q", {write("x", 2)});
  BOOST_TEST(!kept.empty());
  BOOST_TEST(shown(kept.take({channel("messages")}))
             == " 00000000 log[\"i\"]\n"
                "~p 00000000 log[\"a\"]\n"
                "~~0000000001~p ffffffff log[\"b\"]\n");
  BOOST_TEST(kept.empty());
}

BOOST_AUTO_TEST_CASE(exit_writes_leave_out_what_the_first_step_found_stored) {
  exit_writes kept;
  const std::vector<pending_write> stored{pending("log", task_a), pending("messages", null_task)};
  kept.begin(*plan(), stored);
  const task_write_list both{write("log", text("a")), write("messages", text("m"))};
  kept.collect(4, task_a, "~p", both);
  kept.end_step();
  kept.collect(5, task_a, "~p", both);
  BOOST_TEST(shown(kept.take({}))
             == "~p 00000004 messages[\"m\"]\n"
                "~~0000000005~p ffffffff log[\"a\"] messages[\"m\"]\n");
}

BOOST_AUTO_TEST_CASE(exit_writes_of_a_branch_are_given_up_for_values) {
  book_probe p;
  exit_writes kept;
  kept.begin(*plan(), {});
  kept.collect(1, task_a, "~p", {write("log", text("a"))});
  kept.give_up(p.book);
  BOOST_TEST(kept.take({}).empty());
  BOOST_TEST((p.book.due(p.state) == std::vector{channel("log")}));
}

// ---- messages -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(message_ids_are_given_in_writes_to_delta_channels_only) {
  const auto map = value::map({{"role", "user"}, {"content", "hi"}});
  task_write_list writes{write("messages", "hi"), write("x", map), write("log", value::list({map})),
                         write("old", value::list({map})), write("gone", map)};
  give_message_ids(*plan(), writes).value();
  BOOST_TEST(writes[0].val.payload()["id"].size() == 36u);
  BOOST_TEST(writes[1].val == map);
  BOOST_TEST(writes[2].val[0].is(value_kind::message));
  BOOST_TEST(writes[3].val[0] == map);
  BOOST_TEST(writes[4].val == map);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
