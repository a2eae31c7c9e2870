// Checks of put_writes: slots of a task, their order, and the checkpoint that they belong to.
#include "testing/saver_subject.hpp"

#include <algorithm>

namespace troupe::testing {

namespace {

// The checkpoint c1 of thread t, and its place.
checkpoint_ref put_first(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {}));
  return at("t", "", "c1");
}

void expect_writes(saver_subject& t, const checkpoint_ref& ref, const texts& expected) {
  expect_equal("the writes after " + shown(ref), t.writes(ref), expected);
}

// ---- the reference's ----------------------------------------------------------------------------

void put_writes_basic(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, {"task", "", {{"x", 1}}});
  expect_writes(t, here, {"/task/x=1"});
}

void put_writes_multiple_writes_same_task(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, {"task", "", {{"x", 1}, {"y", 2}, {"x", 3}}});
  expect_writes(t, here, {"/task/x=1", "/task/y=2", "/task/x=3"});
}

void put_writes_multiple_tasks(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, {"task1", "a:b:c", {{"x", value{{"data", 123}}}, {"y", 2}, {"x", 3}}});
  t.put_writes(here, {"task2", "a:b:c", {{"x", nullptr}}});
  expect_writes(t, here,
                {"a:b:c/task1/x={\"data\":123}", "a:b:c/task1/y=2", "a:b:c/task1/x=3",
                 "a:b:c/task2/x=null"});
}

void put_writes_preserves_task_id(saver_subject& t) {
  auto here = put_first(t);
  texts ids{"",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "6BA7B810-9dad-11d1-80b4-00c04fd430c8",
            "6ba7b810-9dad-11d1-80b4_00c04fd430c8",
            std::string(limits::task_id_bytes_max, 't'),
            "\xff",
            "0123456789abcdef"};
  std::ranges::sort(ids);
  for (const auto& id : ids)
    t.put_writes(here, one_write(id, 1));
  texts found;
  for (const auto& w : t.get(at("t")).pending_writes)
    found.push_back(w.task_id);
  expect_equal("the task ids", found, ids);
}

void put_writes_preserves_channel_and_value(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, {"task", "", {{"my_channel", value{{"data", 123}}}}});
  expect_equal("the writes", t.get(here).pending_writes,
               std::vector<pending_write>{{"task", "my_channel", value{{"data", 123}}, ""}});
}

void put_writes_task_path(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, one_write("task", 1, "a:b:c"));
  expect_writes(t, here, {"a:b:c/task/channel=1"});
}

void put_writes_idempotent(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, {"task", "p", {{"x", 1}}});
  t.put_writes(here, {"task", "p", {{"x", 1}}});
  expect_writes(t, here, {"p/task/x=1"});
}

void put_writes_special_channels(saver_subject& t) {
  auto here = put_first(t);
  for (int i : {1, 2})
    t.put_writes(here, {"task",
                        "",
                        {{"__error__", i},
                         {"__interrupt__", i},
                         {"__resume__", i},
                         {"__scheduled__", i},
                         {"__no_writes__", i}}});
  t.put_writes(here, {"task", "", {{"__error__", 3}, {"__error__", 4}}});
  expect_writes(t, here,
                {"/task/__resume__=2", "/task/__interrupt__=2", "/task/__scheduled__=2",
                 "/task/__error__=4", "/task/__no_writes__=1"});
}

void put_writes_across_namespaces(saver_subject& t) {
  for (const auto* ns : {"", "child"})
    for (const auto* id : {"c1", "c10", "c2"})
      t.put(at("t", ns), make_put(id, "", {}));
  t.put_writes(at("t", "", "c1"), one_write("root", 1));
  t.put_writes(at("t", "child", "c1"), one_write("child", 2));
  expect_writes(t, at("t", "", "c1"), {"/root/channel=1"});
  expect_writes(t, at("t", "child", "c1"), {"/child/channel=2"});
  expect_writes(t, at("t", "", "c10"), {});
  expect_writes(t, at("t", "", "c2"), {});
}

void put_writes_cleared_on_next_checkpoint(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, one_write("task", 1));
  t.put(at("t"), make_put("c2", "c1", {}));
  expect_writes(t, at("t"), {});
  expect_writes(t, here, {"/task/channel=1"});
}

// ---- troupe's -----------------------------------------------------------------------------------

void put_writes_rejects_missing_thread_id(saver_subject& t) {
  expect_error("put_writes without a thread", t->put_writes(at("", "", "c1"), one_write("task", 1)),
               errc::invalid_config);
}

void put_writes_rejects_missing_checkpoint_id(saver_subject& t) {
  expect_error("put_writes without a checkpoint", t->put_writes(at("t"), one_write("task", 1)),
               errc::invalid_config);
  expect_equal("the number of threads", t->threads().value().size(), 0);
}

void put_writes_rejects_ids_out_of_bounds(saver_subject& t) {
  const std::string long_task(limits::task_id_bytes_max + 1, 'k');
  expect_error("put_writes of a long task id",
               t->put_writes(at("t", "", "c1"), one_write(long_task, 1)), errc::invalid_config);
  expect_equal("the number of threads", t->threads().value().size(), 0);
}

void put_writes_ordered_by_path_task_and_slot(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, {"a", "~2", {{"x", 1}}});
  t.put_writes(here, {"c", "~1", {{"x", 2}, {"__error__", 3}, {"x", 4}}});
  t.put_writes(here, {"b", "~1", {{"__resume__", 5}, {"__interrupt__", 6}}});
  t.put_writes(here, {"z", "", {{"x", 7}}});
  t.put_writes(here, {"b", "~1", {{"__scheduled__", 8}}});
  expect_writes(t, here,
                {"/z/x=7", "~1/b/__resume__=5", "~1/b/__interrupt__=6", "~1/b/__scheduled__=8",
                 "~1/c/__error__=3", "~1/c/x=2", "~1/c/x=4", "~2/a/x=1"});
}

void put_writes_keeps_taken_positions(saver_subject& t) {
  auto here = put_first(t);
  t.put_writes(here, {"task", "p", {{"x", 1}}});
  t.put_writes(here, {"task", "q", {{"x", 2}, {"y", 3}}});
  expect_writes(t, here, {"p/task/x=1", "q/task/y=3"});
}

void put_writes_before_the_checkpoint(saver_subject& t) {
  auto here = at("t", "", "c1");
  t.put_writes(here, one_write("task", 1));
  expect("no checkpoint is there", !t.has(here));
  t.put(at("t"), make_put("c1", "", {}));
  expect_writes(t, here, {"/task/channel=1"});
}

} // namespace

std::vector<saver_check> put_writes_checks() {
  return {
    {"put_writes", "put_writes_basic", put_writes_basic},
    {"put_writes", "put_writes_multiple_writes_same_task", put_writes_multiple_writes_same_task},
    {"put_writes", "put_writes_multiple_tasks", put_writes_multiple_tasks},
    {"put_writes", "put_writes_preserves_task_id", put_writes_preserves_task_id},
    {"put_writes", "put_writes_preserves_channel_and_value",
     put_writes_preserves_channel_and_value},
    {"put_writes", "put_writes_task_path", put_writes_task_path},
    {"put_writes", "put_writes_idempotent", put_writes_idempotent},
    {"put_writes", "put_writes_special_channels", put_writes_special_channels},
    {"put_writes", "put_writes_across_namespaces", put_writes_across_namespaces},
    {"put_writes", "put_writes_cleared_on_next_checkpoint", put_writes_cleared_on_next_checkpoint},
    {"put_writes", "put_writes_rejects_missing_thread_id", put_writes_rejects_missing_thread_id},
    {"put_writes", "put_writes_rejects_missing_checkpoint_id",
     put_writes_rejects_missing_checkpoint_id},
    {"put_writes", "put_writes_rejects_ids_out_of_bounds", put_writes_rejects_ids_out_of_bounds},
    {"put_writes", "put_writes_ordered_by_path_task_and_slot",
     put_writes_ordered_by_path_task_and_slot},
    {"put_writes", "put_writes_keeps_taken_positions", put_writes_keeps_taken_positions},
    {"put_writes", "put_writes_before_the_checkpoint", put_writes_before_the_checkpoint}};
}

} // namespace troupe::testing
