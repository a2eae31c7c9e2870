// Checks of delete_thread, threads, delete_for_runs and copy_thread.
#include "testing/random_thread.hpp"

namespace troupe::testing {

namespace {

// ---- delete_thread ------------------------------------------------------------------------------

void delete_thread_removes_checkpoints(saver_subject& t) {
  fill(t);
  t->delete_thread("t").value();
  expect("no checkpoint is left", !t.has(at("t")));
  expect_equal("the checkpoints of t", t.ids({.thread_id = "t"}), texts{});
}

void delete_thread_removes_writes(saver_subject& t) {
  fill(t);
  t.put_writes(at("t", "", "c2"), one_write("task", 1));
  t->delete_thread("t").value();
  t.put(at("t"), make_put("c2", "", {}));
  expect_equal("the writes of a new c2", t.writes(at("t", "", "c2")), texts{});
}

void delete_thread_removes_all_namespaces(saver_subject& t) {
  fill(t);
  t->delete_thread("t").value();
  expect("the root is empty", !t.has(at("t")));
  expect("the child is empty", !t.has(at("t", "child:1")));
}

void delete_thread_preserves_other_threads(saver_subject& t) {
  fill(t);
  t->delete_thread("t").value();
  expect_equal("n of thread u", t.stored(at("u"), "n"), value(9));
}

void delete_thread_nonexistent_noop(saver_subject& t) {
  t->delete_thread("nobody").value();
  fill(t);
  t->delete_thread("nobody").value();
  expect_equal("the number of checkpoints", t.list({}).size(), 7);
}

void delete_thread_rejects_ids_out_of_bounds(saver_subject& t) {
  const std::string long_id(limits::thread_id_bytes_max + 1, 't');
  expect_error("delete_thread without an id", t->delete_thread(""), errc::invalid_config);
  expect_error("delete_thread of a long id", t->delete_thread(long_id), errc::invalid_config);
}

// ---- threads ------------------------------------------------------------------------------------

void threads_with_newest_and_count(saver_subject& t) {
  expect_equal("the number of threads at first", t->threads().value().size(), 0);
  fill(t);
  t.put(at("only-child", "b"), make_put("c5", "", {}));
  t.put(at("only-child", "a"), make_put("c6", "", {}));
  t.put(at("t", "child:1"), make_put("c9", "", {}));
  texts lines;
  auto threads = t->threads().value();
  for (const auto& each : threads)
    lines.push_back(each.thread_id + " " + each.checkpoint_id);
  expect_equal("the threads and their newest", lines, texts{"only-child c6", "t c3", "u c2"});
  expect_equal("the number of checkpoints of t", threads[1].checkpoints, 7);
  expect_equal("the time of t", threads[1].ts, "2026-11-21T20:21:07.123456+00:00");
}

// ---- delete_for_runs ----------------------------------------------------------------------------

// Six steps in each of two threads and two namespaces; two steps are of one run.
void put_runs(saver_subject& t) {
  for (const auto* thread : {"t", "u"})
    for (const auto* ns : {"", "child:1"})
      for (unsigned n = 1; n <= 6; ++n)
        put_step(t, {.thread_id = thread, .ns = ns, .run_id = "run " + std::to_string((n + 1) / 2)},
                 n, n - 1);
}

void delete_for_runs_single(saver_subject& t) {
  put_runs(t);
  t->delete_for_runs({"run 2"}).value();
  expect_equal("the steps of t", t.steps_of("t"), texts{"6", "5", "2", "1"});
}

void delete_for_runs_multiple(saver_subject& t) {
  put_runs(t);
  auto report = t->delete_for_runs({"run 1", "run 3"}).value();
  expect_equal("the number of removed checkpoints", report.checkpoints, 16);
  expect_equal("the steps of t", t.steps_of("t"), texts{"4", "3"});
}

void delete_for_runs_preserves_other_runs(saver_subject& t) {
  put_runs(t);
  auto kept = t.all_of("t", "")[2];
  t->delete_for_runs({"run 1", "run 3"}).value();
  expect_same(t.all_of("t", "").at(0), kept);
}

void delete_for_runs_removes_writes(saver_subject& t) {
  put_runs(t);
  t->delete_for_runs({"run 3"}).value();
  t.put(at("t"), make_put(checkpoint_id(6), "", {}));
  expect_equal("the writes of a new step 6", t.writes(at("t")), texts{});
}

void delete_for_runs_empty_list_noop(saver_subject& t) {
  put_runs(t);
  expect_equal("the number of removed checkpoints", t->delete_for_runs({}).value().checkpoints, 0);
  expect_equal("the number of checkpoints", t.list({}).size(), 24);
}

void delete_for_runs_nonexistent_noop(saver_subject& t) {
  put_runs(t);
  expect_equal("the number of removed checkpoints",
               t->delete_for_runs({"no such run"}).value().checkpoints, 0);
  expect_equal("the number of checkpoints", t.list({}).size(), 24);
}

void delete_for_runs_across_namespaces(saver_subject& t) {
  put_runs(t);
  t->delete_for_runs({"run 1", "run 3"}).value();
  for (const auto* thread : {"t", "u"})
    for (const auto* ns : {"", "child:1"})
      expect_equal("the steps of " + std::string{thread} + "/" + ns, t.steps_of(thread, ns),
                   texts{"4", "3"});
}

void delete_for_runs_of_named_threads(saver_subject& t) {
  put_runs(t);
  t->delete_for_runs({"run 1", "run 3"}, {"t", "no such thread"}).value();
  expect_equal("the steps of t", t.steps_of("t", ""), texts{"4", "3"});
  expect_equal("the number of checkpoints", t.list({.thread_id = "u"}).size(), 12);
  t->delete_for_runs({}, {"t"}).value();
  expect_equal("the steps of t without a run", t.steps_of("t", ""), texts{"4", "3"});
}

// ---- copy_thread --------------------------------------------------------------------------------

// A thread with branches and several namespaces.
void put_rich_thread(saver_subject& t) {
  random_thread thread{t, 3};
  thread.grow(60);
  put_line(t, {.ns = "child:1"}, 2);
  put_line(t, {.ns = std::string(1000, 'n') + ":1"}, 2);
}

void copy_thread_basic(saver_subject& t) {
  fill(t);
  t->copy_thread("t", "copy").value();
  expect_equal("the place of the newest", t.get(at("copy")).ref, at("copy", "", "c3"));
  expect_equal("n of the newest", t.stored(at("copy"), "n"), value(3));
}

void copy_thread_all_checkpoints(saver_subject& t) {
  put_rich_thread(t);
  t->copy_thread("t", "copy").value();
  expect_same(t.all_of("copy"), t.all_of("t"));
}

void copy_thread_preserves_metadata(saver_subject& t) {
  fill(t);
  t->copy_thread("t", "copy").value();
  expect_equal("the metadata of c1", t.get(at("copy", "", "c1")).metadata,
               value{{"source", "input"}, {"step", -1}, {"score", 42}});
}

void copy_thread_preserves_namespaces(saver_subject& t) {
  fill(t);
  t->copy_thread("t", "copy").value();
  expect_equal("the child's place", t.get(at("copy", "child:1")).ref, at("copy", "child:1", "c3"));
}

void copy_thread_preserves_writes(saver_subject& t) {
  fill(t);
  t.put_writes(at("t", "", "c2"), one_write("task", 1, "path"));
  t->copy_thread("t", "copy").value();
  expect_equal("the writes after c2", t.writes(at("copy", "", "c2")), texts{"path/task/channel=1"});
}

void copy_thread_preserves_ordering(saver_subject& t) {
  fill(t);
  t->copy_thread("t", "copy").value();
  expect_equal("the copy's checkpoints", t.ids({.thread_id = "copy", .checkpoint_ns = ""}),
               texts{"c3", "c2", "c1"});
}

void copy_thread_source_unchanged(saver_subject& t) {
  put_rich_thread(t);
  auto source = t.all_of("t");
  t->copy_thread("t", "copy").value();
  expect_same(t.all_of("t"), source);
}

void copy_thread_nonexistent_source(saver_subject& t) {
  put_line(t, {}, 1);
  t->copy_thread("no such thread", "v").value();
  expect_equal("the number of threads", t->threads().value().size(), 1);
}

void copy_thread_is_independent(saver_subject& t) {
  random_thread thread{t, 3};
  thread.grow(60);
  auto source = t.all_of("t");
  t->copy_thread("t", "copy").value();
  put_step(t, {.thread_id = "copy"}, 70, 60);
  expect_same(t.all_of("t"), source);
  t->delete_thread("t").value();
  expect_equal("the number of the copy's checkpoints", t.all_of("copy").size(), source.size() + 1);
  thread.grow(1); // all that the deleted thread left is the copy's alone
  expect_equal("the number of t's checkpoints", t.all_of("t").size(), 1);
}

void copy_thread_rejects_an_existing_target(saver_subject& t) {
  put_line(t, {}, 1);
  put_line(t, {.thread_id = "u"}, 2);
  expect_error("a copy to a thread that exists", t->copy_thread("t", "u"), errc::invalid_config);
  expect_error("a copy to itself", t->copy_thread("t", "t"), errc::invalid_config);
  expect_equal("the steps of u", t.steps_of("u"), texts{"2", "1"});
}

void copy_thread_rejects_ids_out_of_bounds(saver_subject& t) {
  const std::string long_id(limits::thread_id_bytes_max + 1, 'x');
  expect_error("a copy of a long id", t->copy_thread(long_id, "t"), errc::invalid_config);
  expect_error("a copy to no id", t->copy_thread("t", ""), errc::invalid_config);
}

} // namespace

std::vector<saver_check> delete_thread_checks() {
  const auto* group = "delete_thread";
  return {{group, "delete_thread_removes_checkpoints", delete_thread_removes_checkpoints},
          {group, "delete_thread_removes_writes", delete_thread_removes_writes},
          {group, "delete_thread_removes_all_namespaces", delete_thread_removes_all_namespaces},
          {group, "delete_thread_preserves_other_threads", delete_thread_preserves_other_threads},
          {group, "delete_thread_nonexistent_noop", delete_thread_nonexistent_noop},
          {group, "delete_thread_rejects_ids_out_of_bounds",
           delete_thread_rejects_ids_out_of_bounds},
          {"threads", "threads_with_newest_and_count", threads_with_newest_and_count}};
}

std::vector<saver_check> delete_for_runs_checks() {
  const auto* group = "delete_for_runs";
  return {
    {group, "delete_for_runs_single", delete_for_runs_single, {group}},
    {group, "delete_for_runs_multiple", delete_for_runs_multiple, {group}},
    {group, "delete_for_runs_preserves_other_runs", delete_for_runs_preserves_other_runs, {group}},
    {group, "delete_for_runs_removes_writes", delete_for_runs_removes_writes, {group}},
    {group, "delete_for_runs_empty_list_noop", delete_for_runs_empty_list_noop, {group}},
    {group, "delete_for_runs_nonexistent_noop", delete_for_runs_nonexistent_noop, {group}},
    {group, "delete_for_runs_across_namespaces", delete_for_runs_across_namespaces, {group}},
    {group, "delete_for_runs_of_named_threads", delete_for_runs_of_named_threads, {group}}};
}

std::vector<saver_check> copy_thread_checks() {
  const auto* group = "copy_thread";
  return {{group, "copy_thread_basic", copy_thread_basic, {group}},
          {group, "copy_thread_all_checkpoints", copy_thread_all_checkpoints, {group}},
          {group, "copy_thread_preserves_metadata", copy_thread_preserves_metadata, {group}},
          {group, "copy_thread_preserves_namespaces", copy_thread_preserves_namespaces, {group}},
          {group, "copy_thread_preserves_writes", copy_thread_preserves_writes, {group}},
          {group, "copy_thread_preserves_ordering", copy_thread_preserves_ordering, {group}},
          {group, "copy_thread_source_unchanged", copy_thread_source_unchanged, {group}},
          {group, "copy_thread_nonexistent_source", copy_thread_nonexistent_source, {group}},
          {group, "copy_thread_is_independent", copy_thread_is_independent, {group}},
          {group,
           "copy_thread_rejects_an_existing_target",
           copy_thread_rejects_an_existing_target,
           {group}},
          {group,
           "copy_thread_rejects_ids_out_of_bounds",
           copy_thread_rejects_ids_out_of_bounds,
           {group}}};
}

} // namespace troupe::testing
