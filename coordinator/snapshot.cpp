// A stored checkpoint as a snapshot: the state, and the tasks that follow it.
#include "coordinator/apply.hpp"
#include "coordinator/parts.hpp"
#include "coordinator/state_access.hpp"
#include "coordinator/stored_writes.hpp"

#include <algorithm>

namespace troupe {

namespace {

struct pending_step {
  thread_state state;
  stored_writes stored;
  std::vector<planned_task> tasks;
};

result<pending_step> load_step(const std::shared_ptr<const graph_plan>& plan,
                               const checkpoint_tuple& saved) {
  pending_step out;
  if (auto loaded = load_state(out.state, plan, 0, saved.checkpoint); !loaded)
    return loaded.error();
  out.stored = read_stored(*plan, saved.pending_writes);
  const auto& step = saved.metadata["step"];
  out.tasks = plan_next_tasks(out.state,
                              {.checkpoint_id = saved.ref.checkpoint_id,
                               .checkpoint_ns = saved.ref.checkpoint_ns,
                               .step = step.is_int() ? step.as_int() + 1 : 0},
                              nullptr);
  return out;
}

// Whether the channels took the writes; else the state is as before, so that it stays readable.
bool preview(thread_state& state, std::span<const applied_task> tasks) {
  auto changed = state;
  if (!apply_here(changed, tasks, false))
    return false;
  state = std::move(changed);
  return true;
}

void preview_outside(pending_step& step) {
  if (step.stored.outside.empty())
    return;
  const applied_task outside{applied_task::kind::input, no_index, &step.stored.outside};
  preview(step.state, {&outside, 1});
}

bool preview_finished(pending_step& step) {
  std::vector<const planned_task*> order;
  for (const auto& t : step.tasks)
    if (const auto* record = step.stored.find(t.id); record && record->finished())
      order.push_back(&t);
  std::sort(order.begin(), order.end(), [&step](const planned_task* a, const planned_task* b) {
    return task_order{}(*step.state.plan, *a, *b);
  });
  std::vector<applied_task> finished;
  for (const auto* t : order)
    finished.push_back({t->push ? applied_task::kind::push : applied_task::kind::pull, t->node,
                        &step.stored.find(t->id)->output});
  return preview(step.state, finished);
}

value path_value(const planned_task& task, const plan_node& node) {
  if (task.push)
    return value::list({names::push, task.index, false});
  return value::list({names::pull, node.name});
}

task_snapshot show_task(const graph_plan& plan, const planned_task& task, const task_record* record,
                        bool live) {
  const auto& node = plan.nodes[task.node];
  task_snapshot out{task.id, node.name, path_value(task, node), {}, {}, std::nullopt};
  if (!record)
    return out;
  out.error = record->error;
  out.interrupts = live ? record->waiting() : record->questions;
  if (record->finished())
    out.result = result_payload(plan, record->output);
  return out;
}

} // namespace

result<state_snapshot> make_snapshot(const std::shared_ptr<const graph_plan>& plan,
                                     const run_config& config,
                                     const std::optional<checkpoint_tuple>& saved, bool live) {
  state_snapshot out;
  out.values = value::map();
  out.config = {config.thread_id, config.checkpoint_ns, {}};
  if (!saved)
    return out;
  auto step = load_step(plan, *saved);
  if (!step)
    return step.error();
  preview_outside(*step);
  bool applied = live && preview_finished(*step);
  out.values = read_output(step->state, plan->stream_keys);
  for (const auto& t : step->tasks) {
    const auto* record = step->stored.find(t.id);
    out.tasks.push_back(show_task(*plan, t, record, live));
    const auto& shown = out.tasks.back();
    if (!applied || !record || !record->finished())
      out.next.push_back(shown.name);
    out.interrupts.insert(out.interrupts.end(), shown.interrupts.begin(), shown.interrupts.end());
  }
  out.config = saved->ref;
  out.metadata = saved->metadata;
  out.created_at = saved->checkpoint.ts;
  out.parent_id = saved->parent_id;
  return out;
}

} // namespace troupe
