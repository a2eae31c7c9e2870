// Snapshots: from a stored checkpoint to the state, and the tasks that follow it.
#include "engine/snapshot.hpp"
#include "engine/apply.hpp"
#include "engine/find_checkpoint.hpp"
#include "engine/stored_writes.hpp"
#include "engine/stream_payloads.hpp"

#include <algorithm>
#include <charconv>

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

// Whether the channels accepted the writes; otherwise the state is as before, so that it stays
// readable.
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
  task_snapshot out;
  out.id = task.id;
  out.name = node.name;
  out.path = path_value(task, node);
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
  out.values = read_output(step->state, whole_state(*plan));
  for (const auto& t : step->tasks) {
    const auto* record = step->stored.find(t.id);
    out.tasks.push_back(show_task(*plan, t, record, live));
    auto& shown = out.tasks.back();
    shown.subgraph_ns = subgraph_namespace(*plan, config.checkpoint_ns, t);
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

// The graph that a node is, or the n-th graph that it declares to call.
static std::shared_ptr<const graph_plan> inner_graph(const graph_plan& plan, std::string_view node,
                                                     std::size_t nth) {
  auto n = plan.find_node(node);
  if (n == no_index)
    return nullptr;
  const auto& found = plan.nodes[n];
  if (found.body.graph)
    return found.body.graph;
  if (found.settings->calls.empty())
    return nullptr;
  return found.settings->calls[std::min(nth, found.settings->calls.size() - 1)].plan();
}

result<std::shared_ptr<const graph_plan>> graph_at(const std::shared_ptr<const graph_plan>& root,
                                                   std::string_view checkpoint_ns) {
  auto at = root;
  auto parts = split_namespace(checkpoint_ns);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t nth = 0;
    if (i + 1 < parts.size())
      std::from_chars(parts[i + 1].data(), parts[i + 1].data() + parts[i + 1].size(), nth);
    auto name = nodes_of_namespace(parts[i]);
    if (name.empty())
      continue; // the number after a graph's name
    at = inner_graph(*at, name.front(), nth);
    if (!at)
      return error{errc::invalid_config,
                   "Subgraph " + without_task_ids(checkpoint_ns) + " not found"};
  }
  return at;
}

std::string kept_namespace(const graph_plan& plan, std::string_view checkpoint_ns) {
  return plan.options.checkpointer.mode() == checkpointing::per_thread
           ? without_task_ids(checkpoint_ns)
           : std::string{checkpoint_ns};
}

result<state_snapshot> read_snapshot(const std::shared_ptr<const graph_plan>& root, saver& store,
                                     const run_config& config, bool subgraphs) {
  auto plan = graph_at(root, config.checkpoint_ns);
  if (!plan)
    return plan.error();
  auto at = config;
  at.checkpoint_ns = kept_namespace(**plan, config.checkpoint_ns);
  auto saved = find_checkpoint(**plan, store, {at.thread_id, at.checkpoint_ns, at.checkpoint_id});
  if (!saved)
    return saved.error();
  if (auto kept = check_kept(config, *saved); !kept)
    return kept.error();
  auto out = make_snapshot(*plan, at, *saved, at.checkpoint_id.empty());
  if (!out || !subgraphs)
    return out;
  for (auto& task : out->tasks) {
    if (task.subgraph_ns.empty())
      continue;
    auto inner_config = config;
    inner_config.checkpoint_ns = task.subgraph_ns;
    inner_config.checkpoint_id.clear();
    auto inner = read_snapshot(root, store, inner_config, true);
    if (!inner)
      return inner;
    task.state = std::make_shared<state_snapshot>(std::move(*inner));
  }
  return out;
}

} // namespace troupe
