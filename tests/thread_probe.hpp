// A thread that a test drives step by step with the pure functions, without a run: what its nodes
// return is given by the test.
#pragma once

#include "coordinator/apply.hpp"
#include "coordinator/checkpoint_metadata.hpp"
#include "coordinator/outside_writers.hpp"
#include "coordinator/state_access.hpp"
#include "coordinator/stored_writes.hpp"
#include "coordinator/thread_owners.hpp"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

inline value say_nothing(const state_view&) {
  return {};
}

/// The id of the n-th checkpoint, as in the vectors of the task ids.
inline std::string checkpoint_name(int n) {
  char text[40];
  std::snprintf(text, sizeof text, "00000000-0000-6000-8000-%012d", n);
  return text;
}

using edge_list = std::initializer_list<std::pair<const char*, const char*>>;

/// A graph of nodes that return nothing, over `x` (last_value) and `log` (append).
inline state_graph<> quiet_graph(std::initializer_list<const char*> nodes, edge_list edges) {
  state_graph<> g{schema{{"x", last_value}, {"log", append}}};
  for (auto* n : nodes)
    g.add_node(n, say_nothing);
  for (auto [from, to] : edges)
    g.add_edge(from, to);
  return g;
}

struct thread_probe {
  using outputs = std::map<std::string, value>;

  explicit thread_probe(const compiled_graph& graph) : plan{graph.plan()} {
    reset_state(state, plan, 7);
    tools = {[this](std::int64_t, std::uint64_t) { return checkpoint_name(++made); },
             [] { return std::string{"2026-01-01T00:00:00.000000+00:00"}; },
             [this] { return ++tag; }, &owners};
  }

  // -- as a run would

  /// A new input on the newest checkpoint.
  void input(value v) {
    const task_write_list writes{{plan->start, std::move(v), {}}};
    const applied_task task{applied_task::kind::input, no_index, &writes};
    auto updated = apply_here(state, {&task, 1}, true).value();
    put("input", &updated);
  }

  std::vector<planned_task> tasks() const {
    return plan_next_tasks(state, {made_id(), "", step}, nullptr);
  }
  std::string task_of(std::string_view node) const {
    for (const auto& t : tasks())
      if (plan->nodes[t.node].name == node)
        return t.id;
    return {};
  }

  task_write_list writes_of(const planned_task& task, const outputs& out) const {
    const auto& name = plan->nodes[task.node].name;
    std::optional<state_update> values;
    if (task.node == 0)
      values = state_update{state.cells[plan->start].content};
    else if (auto at = out.find(name); at != out.end())
      values = state_update{at->second};
    return run_writers(state, {}, {task.node, task.id, "", step, &values}).value();
  }

  /// Stores what these nodes' tasks wrote, without an end of the step.
  void finish(const outputs& out) {
    for (const auto& t : tasks())
      if (out.contains(plan->nodes[t.node].name))
        keep(t, writes_of(t, out));
  }

  /// All tasks run and end, those that are not named return nothing.
  void run_step(const outputs& out = {}) {
    auto ran = tasks();
    std::sort(ran.begin(), ran.end(),
              [this](const auto& a, const auto& b) { return task_order{}(*plan, a, b); });
    std::vector<task_write_list> writes;
    for (const auto& t : ran)
      keep(t, writes.emplace_back(writes_of(t, out)));
    std::vector<applied_task> applied;
    for (std::size_t i = 0; i < ran.size(); ++i)
      applied.push_back({ran[i].push ? applied_task::kind::push : applied_task::kind::pull,
                         ran[i].node, &writes[i]});
    auto updated = apply_here(state, applied, true).value();
    put("loop", &updated);
  }

  /// Stores one write of a task of the newest checkpoint, on a path behind all others.
  void keep(const std::string& task, std::string_view channel, value v) {
    store->put_writes({"t", "", made_id()}, {task, "~~", {{std::string{channel}, std::move(v)}}})
      .value();
  }

  // -- from outside

  result<checkpoint_ref> update(std::optional<state_update> values, std::string as_node = {},
                                std::string at = {}) {
    return update_all({{{std::move(values), std::move(as_node)}}}, std::move(at));
  }
  result<checkpoint_ref> update_all(const std::vector<std::vector<outside_update>>& supersteps,
                                    std::string at = {}) {
    config.checkpoint_id = std::move(at);
    return update_thread(plan, *store, config, supersteps, tools);
  }

  checkpoint_tuple saved(const std::string& id = {}) const {
    return store->get_tuple({"t", "", id}).value().value();
  }
  std::size_t count() const { return store->list({.thread_id = "t"}).value().size(); }
  state_snapshot show(bool live, const std::string& id = {}) const {
    return make_snapshot(plan, config, saved(id), live).value();
  }

  std::string made_id() const { return checkpoint_name(made); }

  std::shared_ptr<const graph_plan> plan;
  std::shared_ptr<saver> store = make_memory_saver();
  run_config config{.thread_id = "t"};
  thread_owners owners{1};
  update_tools tools;
  thread_state state;
  std::int64_t step = -1;
  int made = 1; // the synthetic empty checkpoint has the first id
  std::uint64_t tag = 100;

private:
  void keep(const planned_task& t, const task_write_list& writes) {
    auto path = t.push ? push_path(t.index) : pull_path(plan->nodes[t.node].name);
    store
      ->put_writes({"t", "", made_id()}, {t.id, task_path_str(path), store_writes(*plan, writes)})
      .value();
  }

  void put(std::string_view source, const std::vector<channel_index>* updated) {
    checkpoint_put out;
    out.parent_id = made == 1 ? "" : made_id();
    out.checkpoint = take_checkpoint(state, updated, out.new_versions);
    out.checkpoint.id = checkpoint_name(++made);
    out.checkpoint.ts = tools.timestamp();
    out.metadata = checkpoint_metadata(source, step++, {}, config);
    store->put({"t", "", ""}, out).value();
  }
};

/// The numbers of versions, as a map.
inline value numbers(const named<version>& versions) {
  std::vector<value::map_init> out;
  for (const auto& [name, v] : versions)
    out.emplace_back(name, v.number);
  return value::map(std::move(out));
}
inline value numbers(const named<named<version>>& seen) {
  std::vector<value::map_init> out;
  for (const auto& [name, versions] : seen)
    out.emplace_back(name, numbers(versions));
  return value::map(std::move(out));
}
inline value as_map(const named<value>& values) {
  return value::map({values.begin(), values.end()});
}
inline value text_list(const std::vector<std::string>& texts) {
  return value::of(texts);
}

} // namespace troupe
