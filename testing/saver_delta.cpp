// Checks of get_delta_channel_history: writes since the nearest value, along the branch.
#include "testing/saver_subject.hpp"

namespace troupe::testing {

namespace {

// Checkpoint c<n> below c<parent>, with these values; the task after it writes "w<n>" to channels a
// and b.
void put_delta(saver_subject& t, int n, int parent, named<value> values,
               const std::string& ns = "") {
  auto id = "c" + std::to_string(n);
  t.put(at("t", ns), make_put(id, parent == 0 ? "" : "c" + std::to_string(parent),
                              std::move(values), value::map(), {static_cast<unsigned>(n), 7}));
  auto written = value("w" + std::to_string(n));
  t.put_writes(at("t", ns, id), {"task", "", {{"a", written}, {"b", written}}});
}

value snapshot_of(const char* text) {
  return value::extension(value_kind::delta_snapshot, text);
}

// A history as "seed: write write …".
std::string shown_history(const delta_history& history) {
  std::string out = history.seed ? to_json(*history.seed) + ":" : "no seed:";
  for (const auto& w : history.writes)
    out += " " + w.value.as<std::string>();
  return out;
}

void expect_history(saver_subject& t, const checkpoint_ref& ref, const std::string& channel,
                    std::string_view expected) {
  auto found = t->get_delta_channel_history(ref, {channel}).value();
  auto what = "the history of " + channel + " at " + shown(ref);
  expect_equal(what + ", its channels", found.size(), 1);
  expect_equal(what + ", its channel", found[0].first, channel);
  expect_equal(what, shown_history(found[0].second), expected);
}

// ---- the reference's ----------------------------------------------------------------------------

void history_returns_writes_oldest_first(saver_subject& t) {
  put_delta(t, 1, 0, {{"a", snapshot_of("old")}});
  for (int n : {2, 3, 4, 5})
    put_delta(t, n, n - 1, {});
  expect_history(t, at("t", "", "c5"), "a", R"({"$delta_snapshot":"old"}: w1 w2 w3 w4)");
  expect_history(t, at("t"), "a", R"({"$delta_snapshot":"old"}: w1 w2 w3 w4)");
}

void history_seed_is_nearest_snapshot(saver_subject& t) {
  put_delta(t, 1, 0, {{"a", snapshot_of("old")}});
  put_delta(t, 2, 1, {});
  put_delta(t, 3, 2, {{"a", snapshot_of("near")}});
  put_delta(t, 4, 3, {});
  put_delta(t, 5, 4, {});
  expect_history(t, at("t", "", "c5"), "a", R"({"$delta_snapshot":"near"}: w3 w4)");
  expect_history(t, at("t"), "a", R"({"$delta_snapshot":"near"}: w3 w4)");
  expect_history(t, at("t", "", "c3"), "a", R"({"$delta_snapshot":"old"}: w1 w2)");
}

void history_excludes_target_pending_writes(saver_subject& t) {
  put_delta(t, 1, 0, {{"a", snapshot_of("seed")}});
  put_delta(t, 2, 1, {});
  t.put_writes(at("t", "", "c2"), {"more", "", {{"a", "extra"}}});
  expect_history(t, at("t"), "a", R"({"$delta_snapshot":"seed"}: w1)");
}

void history_multi_channel(saver_subject& t) {
  put_delta(t, 1, 0, {});
  put_delta(t, 2, 1, {{"a", snapshot_of("A")}});
  put_delta(t, 3, 2, {});
  put_delta(t, 4, 3, {{"b", snapshot_of("B")}});
  put_delta(t, 5, 4, {});
  texts lines;
  for (const auto& [channel, history] :
       t->get_delta_channel_history(at("t"), {"b", "c", "a", "b"}).value())
    lines.push_back(channel + " " + shown_history(history));
  expect_equal("the histories, sorted", lines,
               texts{R"(a {"$delta_snapshot":"A"}: w2 w3 w4)", R"(b {"$delta_snapshot":"B"}: w4)",
                     "c no seed:"});
}

void history_empty_channels_returns_empty(saver_subject& t) {
  put_delta(t, 1, 0, {});
  put_delta(t, 2, 1, {});
  expect_equal("the number of histories", t->get_delta_channel_history(at("t"), {}).value().size(),
               0);
}

void history_walk_to_root_no_seed(saver_subject& t) {
  for (int n = 1; n <= 3; ++n)
    put_delta(t, n, n - 1, {});
  expect_history(t, at("t"), "a", "no seed: w1 w2");
  expect_history(t, at("t", "", "c1"), "a", "no seed:");
  expect_history(t, at("t"), "unknown", "no seed:");
}

void history_migration_plain_value_as_seed(saver_subject& t) {
  put_delta(t, 1, 0, {{"a", value{1, 2}}});
  put_delta(t, 2, 1, {});
  put_delta(t, 3, 2, {});
  expect_history(t, at("t"), "a", "[1,2]: w1 w2");
}

void history_seed_ancestor_own_writes_are_replayed(saver_subject& t) {
  put_delta(t, 1, 0, {{"a", value{10}}});
  put_delta(t, 2, 1, {{"a", value{10, 20}}});
  put_delta(t, 3, 2, {});
  put_delta(t, 4, 3, {});
  expect_history(t, at("t"), "a", "[10,20]: w2 w3");
}

// Two checkpoints; after the first one these tasks write to channels a and b.
void put_parallel(saver_subject& t,
                  std::vector<std::pair<task_writes, std::vector<const char*>>> tasks) {
  t.put(at("t"), make_put("c1", "", {}));
  t.put(at("t"), make_put("c2", "c1", {}));
  for (auto& [task, written] : tasks) {
    for (const auto* text : written) {
      task.writes.emplace_back("a", text);
      task.writes.emplace_back("b", text);
    }
    t.put_writes(at("t", "", "c1"), task);
  }
}

void history_orders_parallel_writes_by_task_path(saver_subject& t) {
  put_parallel(t, {{{"2", "~p, z", {}}, {"5"}},
                   {{"4", "~p, a", {}}, {"4"}},
                   {{"3", "~p, a", {}}, {"2", "3"}},
                   {{"9", "", {}}, {"1"}},
                   {{"1", "~~0000000001~p, a", {}}, {"6"}}});
  expect_history(t, at("t"), "a", "no seed: 1 2 3 4 5 6");
}

void history_orders_pathless_writes_first(saver_subject& t) {
  put_parallel(t, {{{"1", "~pull, a", {}}, {"from_node"}}, {{"9", "", {}}, {"from_input"}}});
  expect_history(t, at("t"), "a", "no seed: from_input from_node");
}

// ---- troupe's -----------------------------------------------------------------------------------

void history_follows_the_branch(saver_subject& t) {
  put_delta(t, 5, 0, {});
  put_delta(t, 9, 5, {});
  put_delta(t, 7, 5, {});
  put_delta(t, 6, 7, {});
  expect_history(t, at("t", "", "c6"), "a", "no seed: w5 w7");
  expect_history(t, at("t", "", "c9"), "a", "no seed: w5");
}

void history_leaves_out_writes_of_separate_branches(saver_subject& t) {
  put_delta(t, 1, 0, {});
  t.put_writes(at("t", "", "c1"),
               {"later", std::string{branch_path_prefix} + "~p, a", {{"a", "other"}}});
  put_delta(t, 2, 1, {});
  expect_history(t, at("t"), "a", "no seed: w1");
}

void history_ends_at_a_missing_or_repeated_parent(saver_subject& t) {
  put_delta(t, 3, 1, {}); // of a thread that was cut short
  put_delta(t, 4, 3, {});
  expect_history(t, at("t"), "a", "no seed: w3");
  put_delta(t, 1, 4, {});
  expect_history(t, at("t", "", "c4"), "a", "no seed: w4 w1 w3");
}

void history_of_nothing_is_empty(saver_subject& t) {
  expect_history(t, at("t"), "a", "no seed:");
  put_delta(t, 1, 0, {}, "child:1");
  put_delta(t, 2, 1, {});
  expect_history(t, at("t"), "a", "no seed:"); // c1 is in another namespace
  expect_history(t, at("t", "", "c7"), "a", "no seed:");
}

void history_rejects_missing_thread_id(saver_subject& t) {
  expect_error("a history without a thread", t->get_delta_channel_history(at(""), {"a"}),
               errc::invalid_config);
}

} // namespace

std::vector<saver_check> delta_checks() {
  const auto* group = "delta_channel_history";
  return {{group, "history_returns_writes_oldest_first", history_returns_writes_oldest_first},
          {group, "history_seed_is_nearest_snapshot", history_seed_is_nearest_snapshot},
          {group, "history_excludes_target_pending_writes", history_excludes_target_pending_writes},
          {group, "history_multi_channel", history_multi_channel},
          {group, "history_empty_channels_returns_empty", history_empty_channels_returns_empty},
          {group, "history_walk_to_root_no_seed", history_walk_to_root_no_seed},
          {group, "history_migration_plain_value_as_seed", history_migration_plain_value_as_seed},
          {group, "history_seed_ancestor_own_writes_are_replayed",
           history_seed_ancestor_own_writes_are_replayed},
          {group, "history_orders_parallel_writes_by_task_path",
           history_orders_parallel_writes_by_task_path},
          {group, "history_orders_pathless_writes_first", history_orders_pathless_writes_first},
          {group, "history_follows_the_branch", history_follows_the_branch},
          {group, "history_leaves_out_writes_of_separate_branches",
           history_leaves_out_writes_of_separate_branches},
          {group, "history_ends_at_a_missing_or_repeated_parent",
           history_ends_at_a_missing_or_repeated_parent},
          {group, "history_of_nothing_is_empty", history_of_nothing_is_empty},
          {group, "history_rejects_missing_thread_id", history_rejects_missing_thread_id}};
}

} // namespace troupe::testing
