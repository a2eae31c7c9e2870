// Checks of prune and rewind: checkpoints that go, and all that stays as it was.
#include "testing/random_thread.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace troupe::testing {

namespace {

// Four steps in each namespace of three threads.
void put_three_threads(saver_subject& t) {
  for (const auto* thread : {"t", "u", "other"})
    for (const auto* ns : {"", "child:1"})
      put_line(t, {.thread_id = thread, .ns = ns}, 4);
}

// ---- prune, the reference's ---------------------------------------------------------------------

void prune_keep_latest_single_thread(saver_subject& t) {
  put_line(t, {}, 4);
  t->prune({"t"}).value();
  expect_equal("the checkpoints", t.ids({.thread_id = "t"}), texts{checkpoint_id(4)});
}

void prune_keep_latest_multiple_threads(saver_subject& t) {
  put_three_threads(t);
  t->prune({"t", "u"}).value();
  for (const auto* thread : {"t", "u"})
    for (const auto* ns : {"", "child:1"})
      expect_equal("the steps of " + std::string{thread} + "/" + ns, t.steps_of(thread, ns),
                   texts{"4"});
}

void prune_keep_latest_across_namespaces(saver_subject& t) {
  put_line(t, {}, 3);
  put_line(t, {.ns = "child:1"}, 2);
  t->prune({"t"}).value();
  expect_equal("the root's steps", t.steps_of("t"), texts{"3"});
  expect_equal("the child's steps", t.steps_of("t", "child:1"), texts{"2"});
}

void prune_keep_latest_preserves_writes(saver_subject& t) {
  put_line(t, {}, 3);
  auto newest = t.get(at("t"));
  t->prune({"t"}).value();
  expect_same(t.get(at("t")), newest);
  expect_equal("the writes after the newest", t.writes(at("t")), texts{"path/task/n=3"});
}

void prune_delete_all(saver_subject& t) {
  put_line(t, {}, 3);
  put_line(t, {.ns = "child:1"}, 3);
  t->prune({"t"}, {.keep_latest = 0}).value();
  expect_equal("the checkpoints", t.ids({}), texts{});
}

void prune_preserves_other_threads(saver_subject& t) {
  put_three_threads(t);
  auto untouched = t.all_of("other");
  t->prune({"t", "u"}).value();
  expect_same(t.all_of("other"), untouched);
}

void prune_empty_list_noop(saver_subject& t) {
  put_line(t, {}, 3);
  expect_equal("the report", t->prune({}).value(), prune_report{});
  expect_equal("the number of checkpoints", t.list({}).size(), 3);
}

void prune_nonexistent_noop(saver_subject& t) {
  put_line(t, {}, 3);
  expect_equal("the report", t->prune({"no such thread"}).value(), prune_report{});
  expect_equal("the number of checkpoints", t.list({}).size(), 3);
}

// ---- prune, troupe's ----------------------------------------------------------------------------

void prune_reports_removed_records(saver_subject& t) {
  put_three_threads(t);
  expect_equal("the report", t->prune({"t", "u", "no such thread"}).value(), prune_report{12, 12});
  expect_equal("the report of the next call", t->prune({"t"}).value(), prune_report{});
}

void prune_removes_unused_values(saver_subject& t) {
  put_line(t, {}, 9);
  // Channel n has a value for each step; that of s is the same in all.
  expect_equal("the number of removed values", t->prune({"t"}).value().values, 8);
  expect_equal("the report of a removal of all", t->prune({"t"}, {.keep_latest = 0}).value(),
               prune_report{1, 2});
  expect_equal("the number of checkpoints", t.all_of("t").size(), 0);
}

void prune_keeps_what_each_rule_names(saver_subject& t) {
  auto expect_kept = [&t](std::string_view rule, const retention& keep, const texts& steps) {
    t->delete_thread("t").value();
    put_line(t, {}, 7);
    put_step(t, {}, 8, 3); // a branch
    t->prune({"t"}, keep).value();
    expect_equal(rule, t.steps_of("t"), steps);
  };
  expect_kept("keep_latest 3", {.keep_latest = 3}, {"8", "7", "6"});
  expect_kept("keep_latest 100", {.keep_latest = 100}, {"8", "7", "6", "5", "4", "3", "2", "1"});
  expect_kept("keep_latest 0", {.keep_latest = 0}, {});
  expect_kept("keep_every 3", {.keep_latest = 1, .keep_every = 3}, {"8", "6", "3"});
  expect_kept("keep_forks", {.keep_latest = 0, .keep_forks = true}, {"8", "7", "3"});
  expect_kept("created_before", {.created_before = "2026-11-21T20:21:07.000006+00:00"},
              {"8", "7", "6"});
}

void prune_dry_run_removes_nothing(saver_subject& t) {
  put_line(t, {}, 7);
  put_line(t, {.ns = "child:1"}, 3);
  auto before = t.all_of("t");
  auto counted = t->prune({"t", "no such thread"}, {.keep_latest = 2, .dry_run = true}).value();
  expect_same(t.all_of("t"), before);
  auto removed = t->prune({"t"}, {.keep_latest = 2}).value();
  expect_equal("the number of counted checkpoints", counted.checkpoints, removed.checkpoints);
  expect_equal("the number of counted values", counted.values, 0);
  expect("checkpoints were removed", removed.checkpoints > 0);
}

void prune_removes_namespaces_of_removed_tasks(saver_subject& t) {
  put_line(t, {}, 3);
  for (unsigned n = 1; n <= 3; ++n) {
    value parents = value::map({{"", checkpoint_id(n)}});
    auto task = std::to_string(n);
    put_line(t, {.ns = "node:" + task, .parents = parents}, 2);
    put_line(t, {.ns = "node:" + task + "|in:1", .parents = parents}, 1);
  }
  put_line(t, {.ns = "keeps", .parents = value::map({{"", checkpoint_id(1)}})}, 2);
  t->prune({"t"}).value();
  std::set<std::string> left;
  for (const auto& tuple : t.all_of("t"))
    left.insert(tuple.ref.checkpoint_ns + " " + to_json(tuple.metadata["step"]));
  // A graph that keeps its state from call to call continues from its newest checkpoint.
  expect_equal("the steps by namespace", left,
               std::set<std::string>{" 3", "node:3 2", "node:3|in:1 1", "keeps 2"});
}

void prune_rejects_ids_out_of_bounds(saver_subject& t) {
  const std::string long_id(limits::thread_id_bytes_max + 1, 'x');
  expect_error("prune of a long id", t->prune({"t", long_id}), errc::invalid_config);
}

bool is_named(const std::vector<checkpoint_tuple>& all, std::size_t i, const retention& keep) {
  if (i < keep.keep_latest)
    return true; // newest first
  auto step = static_cast<std::uint64_t>(all[i].metadata["step"].as_int());
  if (keep.keep_every != 0 && step % keep.keep_every == 0)
    return true;
  auto children = std::ranges::count(all, all[i].ref.checkpoint_id, &checkpoint_tuple::parent_id);
  return keep.keep_forks && children != 1;
}

// Prunes, and compares what stays with what was there. The delta channel's history is compared
// where the checkpoint does not hold its value.
void prune_and_compare(saver_subject& t, const retention& keep) {
  auto before = t.all_of("t");
  std::map<std::string, delta_history> deltas;
  for (const auto& tuple : before)
    deltas[tuple.ref.checkpoint_id] = delta_of(t, tuple.ref.checkpoint_id);
  auto report = t->prune({"t"}, keep).value();
  auto after = t.all_of("t");
  expect_equal("the number of removed checkpoints", report.checkpoints,
               before.size() - after.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& id = before[i].ref.checkpoint_id;
    if (next == after.size() || after[next].ref.checkpoint_id != id) {
      expect("no rule names the removed checkpoint " + id, !is_named(before, i, keep));
      continue;
    }
    expect_same(after[next++], before[i]);
    if (!before[i].metadata.contains(delta_counters))
      continue;
    auto delta = delta_of(t, id);
    expect_equal("the delta writes at " + id, delta.writes, deltas[id].writes);
    expect_equal("the delta seed at " + id, delta.seed, deltas[id].seed);
  }
  expect_equal("the number of known checkpoints left", next, after.size());
}

void prune_changes_nothing_of_what_stays(saver_subject& t) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    auto on = t.fresh();
    random_thread thread{on, seed};
    std::mt19937 random{seed};
    for (int round = 0; round < 3; ++round) {
      thread.grow(25);
      retention keep{.keep_latest = 1 + random() % 4,
                     .keep_every = random() % 3 ? 0 : 2 + random() % 5,
                     .keep_forks = random() % 2 == 0};
      try {
        prune_and_compare(on, keep);
      } catch (const check_failed& failure) {
        throw check_failed{"seed " + std::to_string(seed) + ": " + failure.message};
      }
    }
  }
}

// ---- rewind -------------------------------------------------------------------------------------

// A second task writes after the checkpoint of step `n`.
void put_more_writes(saver_subject& t, unsigned n, const std::string& ns = "") {
  t.put_writes(at("t", ns, checkpoint_id(n)), {"more", "path", {{"n", "late"}}});
}

rewind_point after(saver_subject& t, unsigned n, const texts& namespaces) {
  rewind_point to{.after_id = checkpoint_id(n)};
  for (const auto& ns : namespaces) {
    auto head = t.get(at("t", ns, checkpoint_id(n)));
    to.heads.push_back({head.ref, head.pending_writes});
  }
  return to;
}

// Thread t with branches, a child and a task that asks; and a thread beside it.
rewind_point put_rewindable(saver_subject& t) {
  random_thread thread{t, 5};
  thread.grow(30);
  put_line(t, {.ns = "child:1"}, 30);
  put_line(t, {.thread_id = "other"}, 40);
  // A task with an answer, a question and a write.
  t.put_writes(at("t", "", checkpoint_id(30)),
               {"asks", "path", {{"x", 1}, {"__resume__", 1}, {"__interrupt__", "?"}}});
  return after(t, 30, {"", "child:1"});
}

// The writes and checkpoints of a later run.
void put_later_run(saver_subject& t) {
  t.put_writes(at("t", "", checkpoint_id(30)),
               {"asks", "path", {{"y", 2}, {"__resume__", 2}, {"__error__", "!"}, {"z", 3}}});
  put_more_writes(t, 30);
  put_more_writes(t, 30, "child:1");
  put_step(t, {}, 31, 30);
  put_step(t, {}, 32, 31);
  put_step(t, {.ns = "child:1"}, 31, 30);
  put_step(t, {.ns = "new"}, 33, 0);
  put_more_writes(t, 40); // after a checkpoint that never came
}

void rewind_restores_the_thread(saver_subject& t) {
  auto to = put_rewindable(t);
  auto before = t.all_of("t");
  auto other = t.all_of("other");
  put_later_run(t);
  t->rewind("t", to).value();
  expect_same(t.all_of("t"), before);
  expect_same(t.all_of("other"), other);

  put_more_writes(t, 30);
  put_step(t, {}, 31, 30); // it continues
  expect_equal("the number of checkpoints", t.all_of("t").size(), before.size() + 1);
  t.put(at("t"), make_put(checkpoint_id(40), checkpoint_id(31), {{"n", 1}}));
  expect_equal("the writes after step 40", t.writes(at("t", "", checkpoint_id(40))), texts{});
}

void rewind_leaves_nothing_to_prune(saver_subject& t) {
  auto to = put_rewindable(t);
  put_later_run(t);
  t->rewind("t", to).value();
  expect_equal("the report", t->prune({"t"}, {.keep_latest = 100}).value(), prune_report{});
}

void rewind_to_nothing_removes_the_thread(saver_subject& t) {
  put_line(t, {}, 3);
  put_line(t, {.ns = "child:1"}, 2);
  put_line(t, {.thread_id = "u"}, 1);
  t->rewind("t", {.after_id = checkpoint_id(0)}).value();
  expect_equal("the number of threads", t->threads().value().size(), 1);
  expect_equal("the number of checkpoints", t.all_of("t").size(), 0);
  put_line(t, {}, 1);
  expect_equal("the steps of a new thread", t.steps_of("t"), texts{"1"});
}

void rewind_nonexistent_noop(saver_subject& t) {
  put_line(t, {.thread_id = "u"}, 1);
  t->rewind("no such thread", {.after_id = checkpoint_id(0)}).value();
  expect_equal("the number of threads", t->threads().value().size(), 1);
}

void rewind_leaves_missing_heads_missing(saver_subject& t) {
  put_line(t, {}, 3);
  auto to = after(t, 2, {""});
  to.heads.push_back({at("t", "no such", checkpoint_id(2)), {}});
  t->prune({"t"}).value();
  t->rewind("t", to).value();
  expect_equal("the number of checkpoints", t.all_of("t").size(), 0);
}

void rewind_rejects_missing_thread_id(saver_subject& t) {
  expect_error("rewind without a thread", t->rewind("", {.after_id = checkpoint_id(1)}),
               errc::invalid_config);
}

} // namespace

std::vector<saver_check> prune_checks() {
  const auto* group = "prune";
  return {
    {group, "prune_keep_latest_single_thread", prune_keep_latest_single_thread, {group}},
    {group, "prune_keep_latest_multiple_threads", prune_keep_latest_multiple_threads, {group}},
    {group, "prune_keep_latest_across_namespaces", prune_keep_latest_across_namespaces, {group}},
    {group, "prune_keep_latest_preserves_writes", prune_keep_latest_preserves_writes, {group}},
    {group, "prune_delete_all", prune_delete_all, {group}},
    {group, "prune_preserves_other_threads", prune_preserves_other_threads, {group}},
    {group, "prune_empty_list_noop", prune_empty_list_noop, {group}},
    {group, "prune_nonexistent_noop", prune_nonexistent_noop, {group}},
    {group, "prune_reports_removed_records", prune_reports_removed_records, {group}},
    {group, "prune_removes_unused_values", prune_removes_unused_values, {group}},
    {group, "prune_keeps_what_each_rule_names", prune_keeps_what_each_rule_names, {group}},
    {group, "prune_dry_run_removes_nothing", prune_dry_run_removes_nothing, {group}},
    {group,
     "prune_removes_namespaces_of_removed_tasks",
     prune_removes_namespaces_of_removed_tasks,
     {group}},
    {group, "prune_rejects_ids_out_of_bounds", prune_rejects_ids_out_of_bounds, {group}},
    {group, "prune_changes_nothing_of_what_stays", prune_changes_nothing_of_what_stays, {group}}};
}

std::vector<saver_check> rewind_checks() {
  const auto* group = "rewind";
  return {
    {group, "rewind_restores_the_thread", rewind_restores_the_thread, {group}},
    {group, "rewind_leaves_nothing_to_prune", rewind_leaves_nothing_to_prune, {group, "prune"}},
    {group, "rewind_to_nothing_removes_the_thread", rewind_to_nothing_removes_the_thread, {group}},
    {group, "rewind_nonexistent_noop", rewind_nonexistent_noop, {group}},
    {group,
     "rewind_leaves_missing_heads_missing",
     rewind_leaves_missing_heads_missing,
     {group, "prune"}},
    {group, "rewind_rejects_missing_thread_id", rewind_rejects_missing_thread_id, {group}}};
}

} // namespace troupe::testing
