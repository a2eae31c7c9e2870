// Snapshots: from a stored checkpoint to the state, and the tasks that follow it.
#include "engine/snapshot.hpp"
#include "engine/apply.hpp"
#include "engine/find_checkpoint.hpp"
#include "engine/stored_writes.hpp"
#include "engine/stream_payloads.hpp"
#include "graph/value_node.hpp"
#include "persistence/prompt_saver.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <utility>

namespace troupe {

namespace {

constexpr std::size_t history_page = 8;
constexpr std::size_t channels_kept_max = 64; // of the memory of a read

struct pending_step {
  thread_state state;
  stored_writes stored;
  std::vector<planned_task> tasks;

  /// ["__pregel_pull", node]; snapshots of a history share it.
  const value& pull_path(node_index n) {
    auto& known = paths[n % paths.size()];
    if (known.node != n) {
      std::array<value, 2> path{names::pull, state.plan->nodes[n].name};
      known = {n, value_access::list(path)};
    }
    return known.path;
  }

  struct known_path {
    node_index node = no_index;
    value path;
  };
  std::array<known_path, 4> paths{}; // of nodes of state.plan
};

// Fills `out` anew and uses its memory again.
result<void> load_step(pending_step& out, const std::shared_ptr<const graph_plan>& plan,
                       const checkpoint_tuple& saved) {
  if (auto loaded = load_state(out.state, plan, 0, saved.checkpoint); !loaded)
    return loaded;
  out.stored = read_stored(*plan, saved.pending_writes);
  const auto& step = saved.metadata["step"];
  plan_next_tasks(out.state,
                  {.checkpoint_id = saved.ref.checkpoint_id,
                   .checkpoint_ns = saved.ref.checkpoint_ns,
                   .step = step.is_int() ? step.as_int() + 1 : 0},
                  nullptr, out.tasks);
  return {};
}

// Whether the channels accepted the writes; otherwise the state is as before, so that it stays
// readable.
bool preview(thread_state& state, std::span<const applied_task> tasks) {
  if (tasks.empty())
    return true;
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

task_snapshot show_task(pending_step& step, const graph_plan& plan, planned_task& task,
                        const task_record* record, bool live) {
  task_snapshot out;
  out.name = plan.nodes[task.node].name;
  out.path = task.push ? value::list({names::push, task.index, false}) : step.pull_path(task.node);
  out.id = std::move(task.id);
  if (!record)
    return out;
  out.error = record->error;
  out.interrupts = live ? record->waiting() : record->questions;
  if (record->finished())
    out.result = result_payload(plan, record->output, whole_state(plan));
  return out;
}

// Makes `out`, which is empty, the snapshot of a checkpoint, which loses what the snapshot shows.
// `step` is working memory, for the next call to use again.
result<void> show(pending_step& step, const std::shared_ptr<const graph_plan>& plan,
                  const std::string& checkpoint_ns, checkpoint_tuple& saved, bool live,
                  state_snapshot& out) {
  if (auto loaded = load_step(step, plan, saved); !loaded)
    return loaded;
  preview_outside(step);
  bool applied = live && preview_finished(step);
  out.values = read_output(step.state, whole_state(*plan));
  out.tasks.reserve(step.tasks.size());
  out.next.reserve(step.tasks.size());
  for (auto& t : step.tasks) {
    const auto* record = step.stored.find(t.id);
    auto subgraph_ns = subgraph_namespace(*plan, checkpoint_ns, t);
    auto& shown = out.tasks.emplace_back(show_task(step, *plan, t, record, live));
    shown.subgraph_ns = std::move(subgraph_ns);
    if (!applied || !record || !record->finished())
      out.next.push_back(shown.name);
    out.interrupts.insert(out.interrupts.end(), shown.interrupts.begin(), shown.interrupts.end());
  }
  out.config = std::move(saved.ref);
  out.metadata = std::move(saved.metadata);
  out.created_at = std::move(saved.checkpoint.ts);
  out.parent_id = std::move(saved.parent_id);
  return {};
}

state_snapshot empty_snapshot(const checkpoint_ref& at) {
  state_snapshot out;
  out.values = value::map();
  out.config = {at.thread_id, at.checkpoint_ns, {}};
  return out;
}

// The memory of one read of a checkpoint: that of the last read on this thread, without its values.
class read_memory {
public:
  read_memory() : memory_{std::exchange(spare, nullptr)} {
    if (!memory_)
      memory_ = std::make_unique<contents>();
  }
  read_memory(const read_memory&) = delete;
  read_memory& operator=(const read_memory&) = delete;
  ~read_memory() {
    if (memory_->step.state.versions.size() > channels_kept_max)
      return;
    memory_->forget();
    spare = std::move(memory_);
  }

  pending_step& step() noexcept { return memory_->step; }
  /// As find_checkpoint(). Owns: nothing; null when it is missing.
  result<checkpoint_tuple*> find(const graph_plan& plan, saver& from, const checkpoint_ref& at) {
    auto& saved = memory_->saved;
    if (auto* prompt = dynamic_cast<prompt_saver*>(&from)) {
      auto found = prompt->get_tuple(at, saved);
      if (!found)
        return found.error();
      if (!*found)
        return nullptr;
      if (channels_to_replay(plan, saved.checkpoint).empty())
        return &saved;
    }
    auto found = find_checkpoint(plan, from, at);
    if (!found)
      return found.error();
    if (!*found)
      return nullptr;
    saved = std::move(**found);
    return &saved;
  }

private:
  struct contents {
    pending_step step;
    checkpoint_tuple saved;

    void forget() {
      step.state.cells.clear();
      step.state.plan.reset();
      step.stored = {};
      step.tasks.clear();
      step.paths = {};
      for (auto& [name, val] : saved.checkpoint.channel_values)
        val = {};
      saved.pending_writes.clear();
      saved.metadata = {};
    }
  };
  static thread_local std::unique_ptr<contents> spare;

  std::unique_ptr<contents> memory_;
};

thread_local std::unique_ptr<read_memory::contents> read_memory::spare;

} // namespace

result<state_snapshot> make_snapshot(const std::shared_ptr<const graph_plan>& plan,
                                     const checkpoint_ref& at,
                                     std::optional<checkpoint_tuple> saved, bool live) {
  if (!saved)
    return empty_snapshot(at);
  pending_step step;
  result<state_snapshot> out{state_snapshot{}};
  if (auto shown = show(step, plan, at.checkpoint_ns, *saved, live, *out); !shown)
    return shown.error();
  return out;
}

// The graph that a node is, or the n-th graph that it declares to call.
static std::shared_ptr<const graph_plan> inner_graph(const graph_plan& plan, std::string_view node,
                                                     std::size_t nth) {
  auto n = plan.find_node(node);
  if (n == no_index)
    return nullptr;
  const auto& found = plan.nodes[n];
  if (found.body.graph())
    return found.body.graph();
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
  const checkpoint_ref at{config.thread_id, kept_namespace(**plan, config.checkpoint_ns),
                          config.checkpoint_id};
  read_memory memory;
  auto saved = memory.find(**plan, store, at);
  if (!saved)
    return saved.error();
  if (auto kept = check_kept(config, *saved != nullptr); !kept)
    return kept.error();
  if (!*saved)
    return empty_snapshot(at);
  result<state_snapshot> out{state_snapshot{}};
  if (auto shown = show(memory.step(), *plan, at.checkpoint_ns, **saved, at.checkpoint_id.empty(),
                        *out);
      !shown)
    return shown.error();
  if (!subgraphs)
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

// Adds the snapshots of a list of checkpoints.
static result<void> add_snapshots(pending_step& step, const std::shared_ptr<const graph_plan>& plan,
                                  const std::string& checkpoint_ns,
                                  std::span<checkpoint_tuple> saved,
                                  std::vector<state_snapshot>& out) {
  for (auto& tuple : saved) {
    if (auto shown = show(step, plan, checkpoint_ns, tuple, false, out.emplace_back()); !shown)
      return shown;
  }
  return {};
}

// Some checkpoints at a time, in the memory of those before them. False: one has a channel that is
// replayed from its past, which a page may not have.
static result<bool> add_pages(const std::shared_ptr<const graph_plan>& plan, prompt_saver& store,
                              list_query query, std::vector<state_snapshot>& out) {
  auto wanted = query.limit.value_or(std::numeric_limits<std::size_t>::max());
  std::vector<checkpoint_tuple> page;
  pending_step step;
  do {
    query.limit = std::min(history_page, wanted - out.size());
    if (auto listed = store.list(query, page); !listed)
      return listed.error();
    if (std::ranges::any_of(page, [&plan](const checkpoint_tuple& tuple) {
          return !channels_to_replay(*plan, tuple.checkpoint).empty();
        }))
      return false;
    if (!page.empty())
      query.before = page.back().ref.checkpoint_id;
    if (auto added = add_snapshots(step, plan, *query.checkpoint_ns, page, out); !added)
      return added.error();
  } while (page.size() == history_page && out.size() < wanted);
  return true;
}

result<std::vector<state_snapshot>> read_history(const std::shared_ptr<const graph_plan>& root,
                                                 saver& store, const run_config& config,
                                                 const history_options& options) {
  if (!options.filter.is_null() && !options.filter.is_map())
    return error{errc::invalid_config, "history_options::filter must be a map"};
  auto plan = graph_at(root, config.checkpoint_ns);
  if (!plan)
    return plan.error();
  list_query query{.thread_id = config.thread_id,
                   .checkpoint_ns = kept_namespace(**plan, config.checkpoint_ns),
                   .filter = options.filter,
                   .before = options.before,
                   .limit = options.limit};
  if (!config.checkpoint_id.empty())
    query.checkpoint_id = config.checkpoint_id;
  std::vector<state_snapshot> out;
  if (auto* prompt = dynamic_cast<prompt_saver*>(&store)) {
    auto added = add_pages(*plan, *prompt, query, out);
    if (!added)
      return added.error();
    if (*added)
      return out;
    out.clear();
  }
  auto saved = list_checkpoints(**plan, store, query);
  if (!saved)
    return saved.error();
  out.reserve(saved->size());
  pending_step step;
  if (auto added = add_snapshots(step, *plan, *query.checkpoint_ns, *saved, out); !added)
    return added.error();
  return out;
}

} // namespace troupe
