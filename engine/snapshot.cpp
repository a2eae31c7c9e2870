// Snapshots: from a stored checkpoint to the state, and the tasks that follow it.
#include "engine/snapshot.hpp"
#include "engine/apply.hpp"
#include "engine/find_checkpoint.hpp"
#include "engine/name_places.hpp"
#include "engine/stored_writes.hpp"
#include "engine/stream_payloads.hpp"
#include "graph/channel_kinds.hpp"
#include "graph/value_node.hpp"
#include "persistence/prompt_saver.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <utility>

namespace troupe {

namespace {

constexpr std::size_t history_page = 8;
constexpr std::size_t names_kept_max = 64; // of a page_reader's memory

struct pending_step {
  thread_state state;
  stored_writes stored;
  std::vector<planned_task> tasks;
  shown_channels shown; // the whole state

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

// Whether the channels accepted the writes; otherwise the state is as before, so that it stays
// readable.
bool preview(thread_state& state, std::span<const applied_task> tasks) {
  if (tasks.empty())
    return true;
  auto changed = state;
  list_live(changed);
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

void show_task(pending_step& step, const graph_plan& plan, planned_task& task,
               const task_record* record, bool live, task_snapshot& out) {
  out.name = plan.nodes[task.node].name;
  if (task.push)
    out.path = value::list({names::push, task.index, false});
  else
    out.path = step.pull_path(task.node);
  out.id = std::move(task.id);
  if (!record)
    return;
  out.error = record->error;
  if (live)
    out.interrupts = record->waiting();
  else
    out.interrupts = record->questions;
  if (record->finished())
    out.result = result_payload(plan, record->output, step.shown);
}

// Adds to `out`, which says where the checkpoint is, what `step` holds of it: its state and its
// writes. The rest of `step` is working memory.
void show(pending_step& step, bool live, state_snapshot& out) {
  const auto& plan = *step.state.plan;
  const auto& number = out.metadata["step"];
  plan_next_tasks(step.state,
                  {.checkpoint_id = out.config.checkpoint_id,
                   .checkpoint_ns = out.config.checkpoint_ns,
                   .step = number.is_int() ? number.as_int() + 1 : 0},
                  nullptr, step.tasks);
  preview_outside(step);
  bool applied = live && preview_finished(step);
  out.values = read_output(step.state, step.shown);
  out.tasks.reserve(step.tasks.size());
  out.next.reserve(step.tasks.size());
  for (auto& t : step.tasks) {
    const auto* record = step.stored.find(t.id);
    auto& shown = out.tasks.emplace_back();
    shown.subgraph_ns = subgraph_namespace(plan, out.config.checkpoint_ns, t);
    show_task(step, plan, t, record, live, shown);
    if (!applied || !record || !record->finished())
      out.next.push_back(shown.name);
    out.interrupts.insert(out.interrupts.end(), shown.interrupts.begin(), shown.interrupts.end());
  }
}

// `saved` loses what the snapshot shows.
result<void> show(pending_step& step, const std::shared_ptr<const graph_plan>& plan,
                  checkpoint_tuple& saved, bool live, state_snapshot& out) {
  if (auto loaded = load_state(step.state, plan, 0, saved.checkpoint); !loaded)
    return loaded;
  step.stored = read_stored(*plan, saved.pending_writes);
  step.shown = whole_state(*plan);
  out.config = std::move(saved.ref);
  out.metadata = std::move(saved.metadata);
  out.created_at = std::move(saved.checkpoint.ts);
  out.parent_id = std::move(saved.parent_id);
  show(step, live, out);
  return {};
}

state_snapshot empty_snapshot(const checkpoint_ref& at) {
  state_snapshot out;
  out.values = value::map();
  out.config = {at.thread_id, at.checkpoint_ns, {}};
  return out;
}

// Checkpoints of a saver that keeps them in memory, as snapshots. Its memory is that of the last
// reader on this thread, without the values.
class page_reader {
public:
  page_reader(const std::shared_ptr<const graph_plan>& plan, prompt_saver& from)
    : plan_{plan},
      from_{from},
      memory_{std::exchange(spare, nullptr)} {
    if (!memory_)
      memory_ = std::make_unique<contents>();
    memory_->step.shown = whole_state(*plan_);
    for (auto c : plan_->stream_keys)
      if (replays_history(plan_->channels[c].spec.kind))
        replayed_.push_back(c);
  }
  page_reader(const page_reader&) = delete;
  page_reader& operator=(const page_reader&) = delete;
  ~page_reader() {
    if (memory_->page.names.size() > names_kept_max)
      return;
    memory_->forget();
    spare = std::move(memory_);
  }

  /// Reads the checkpoints that the query selects. Result: their number; nullopt when one has a
  /// channel that is replayed from its past, which a page does not have.
  result<std::optional<std::size_t>> read(const list_query& query) {
    auto& page = memory_->page;
    if (auto found = from_.read_page(query, page); !found)
      return found.error();
    memory_->places.use(*plan_, page.names);
    std::optional<std::size_t> count;
    if (std::ranges::all_of(page.checkpoints,
                            [this](const auto& saved) { return is_whole(saved); }))
      count = page.checkpoints.size();
    return count;
  }

  /// Makes `out`, which is empty, the snapshot of one of them. Call it once for each.
  result<void> show_one(std::size_t at, const list_query& query, bool live, state_snapshot& out) {
    auto& [page, places, step] = *memory_;
    auto& saved = page.checkpoints[at];
    if (auto loaded = load_state(step.state, plan_, saved, places); !loaded)
      return loaded;
    read_stored(saved.tasks, places, step.stored);
    out.config.thread_id = *query.thread_id;
    out.config.checkpoint_ns = *query.checkpoint_ns;
    out.config.checkpoint_id = std::move(saved.id);
    out.metadata = std::move(saved.metadata);
    out.created_at = std::move(saved.checkpoint.ts);
    out.parent_id = std::move(saved.checkpoint.parent_id);
    show(step, live, out);
    return {};
  }

  /// How many checkpoints at most are older than those that were read last.
  std::size_t older() const noexcept { return memory_->page.older; }

private:
  struct contents {
    checkpoint_page page;
    name_places places;
    pending_step step;

    void forget() {
      places.forget();
      step.state.cells.clear();
      step.state.plan.reset();
      step.stored.clear();
      step.tasks.clear();
      step.paths = {};
      for (auto& saved : page.checkpoints) {
        saved.values.clear();
        saved.metadata = {};
        saved.tasks.clear();
      }
    }
  };
  static thread_local std::unique_ptr<contents> spare;

  bool is_whole(const numbered_tuple& saved) {
    if (replayed_.empty())
      return true;
    for (std::size_t i = 0; i < saved.values.size(); ++i)
      if (!saved.values[i])
        if (auto c = memory_->places[saved.checkpoint.versions[i].channel].channel;
            std::ranges::find(replayed_, c) != replayed_.end())
          return false;
    return true;
  }

  const std::shared_ptr<const graph_plan>& plan_;
  prompt_saver& from_;
  index_list replayed_; // channels
  std::unique_ptr<contents> memory_;
};

thread_local std::unique_ptr<page_reader::contents> page_reader::spare;

// Makes `out`, which is empty, the snapshot of the newest checkpoint, or of the one that `at`
// names. False: it is missing, and `out` is empty.
result<bool> read_one(const std::shared_ptr<const graph_plan>& plan, saver& from,
                      const checkpoint_ref& at, state_snapshot& out) {
  auto live = at.checkpoint_id.empty();
  if (auto* prompt = dynamic_cast<prompt_saver*>(&from)) {
    if (auto ok = check_ref(at); !ok)
      return ok.error();
    list_query query{.thread_id = at.thread_id, .checkpoint_ns = at.checkpoint_ns, .limit = 1};
    if (!live)
      query.checkpoint_id = at.checkpoint_id;
    page_reader pages{plan, *prompt};
    auto count = pages.read(query);
    if (!count)
      return count.error();
    if (*count == 0u)
      return false;
    if (*count) {
      auto shown = pages.show_one(0, query, live, out);
      return shown ? result<bool>{true} : shown.error();
    }
  }
  auto saved = find_checkpoint(*plan, from, at);
  if (!saved)
    return saved.error();
  if (!*saved)
    return false;
  pending_step step;
  auto shown = show(step, plan, **saved, live, out);
  return shown ? result<bool>{true} : shown.error();
}

} // namespace

result<state_snapshot> make_snapshot(const std::shared_ptr<const graph_plan>& plan,
                                     const checkpoint_ref& at,
                                     std::optional<checkpoint_tuple> saved, bool live) {
  if (!saved)
    return empty_snapshot(at);
  pending_step step;
  result<state_snapshot> out{state_snapshot{}};
  if (auto shown = show(step, plan, *saved, live, *out); !shown)
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
  result<state_snapshot> out{state_snapshot{}};
  auto found = read_one(*plan, store, at, *out);
  if (!found)
    return found.error();
  if (auto kept = check_kept(config, *found); !kept)
    return kept.error();
  if (!*found)
    return empty_snapshot(at);
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

// Some checkpoints at a time, in the memory of those before them. False: one of them needs its
// past.
static result<bool> add_pages(const std::shared_ptr<const graph_plan>& plan, prompt_saver& store,
                              list_query query, std::vector<state_snapshot>& out) {
  page_reader pages{plan, store};
  auto wanted = query.limit.value_or(std::numeric_limits<std::size_t>::max());
  for (;;) {
    query.limit = std::min(history_page, wanted - out.size());
    auto count = pages.read(query);
    if (!count)
      return count.error();
    if (!*count)
      return false;
    if (out.empty() && query.filter.is_null())
      out.reserve(**count + std::min(pages.older(), wanted - **count));
    for (std::size_t at = 0; at < **count; ++at)
      if (auto shown = pages.show_one(at, query, false, out.emplace_back()); !shown)
        return shown.error();
    if (**count < history_page || out.size() == wanted)
      return true;
    query.before = out.back().config.checkpoint_id;
  }
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
  for (auto& tuple : *saved)
    if (auto shown = show(step, *plan, tuple, false, out.emplace_back()); !shown)
      return shown.error();
  return out;
}

} // namespace troupe
