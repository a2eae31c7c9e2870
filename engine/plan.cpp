// Planning: the trigger rule, and the identities of the tasks that it starts.
#include "engine/plan.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace troupe {

namespace {

planned_task pull_task(const plan_context& at, const graph_plan& plan, node_index n) {
  planned_task out{.node = n};
  if (!at.checkpoint_id.empty())
    out.id = id_of(at, plan, out);
  return out;
}

void plan_sends(const thread_state& state, const plan_context& at, std::vector<planned_task>& out,
                std::vector<std::string>* ignored) {
  const auto& plan = *state.plan;
  if (!available(state, plan.tasks))
    return;
  auto sends = state.cells[plan.tasks].content.items();
  out.reserve(sends.size());
  node_index n = 0; // the node of the send before: most sends of a step go to one node
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (!sends[i].is(value_kind::send))
      continue;
    const auto& parts = sends[i].payload();
    auto to = parts[0].as_string();
    if (n == 0 || n == no_index || to != plan.nodes[n].name)
      n = plan.find_node(to);
    if (n == no_index || n == 0) {
      if (ignored)
        ignored->emplace_back(to);
      continue;
    }
    auto& task = out.emplace_back(planned_task{
      .node = n, .push = true, .index = static_cast<std::uint32_t>(i), .arg = parts[1]});
    if (parts.size() > 2)
      task.timeout = sends[i].as<send>().timeout;
    if (!at.checkpoint_id.empty())
      task.id = id_of(at, plan, task);
  }
}

// The candidates by name, each once. The channels of a step often give them in this order already.
void sort_by_name(const graph_plan& plan,
                  boost::container::small_vector<node_index, 16>& candidates) {
  auto before = [&plan](node_index a, node_index b) {
    return plan.nodes[a].name < plan.nodes[b].name;
  };
  if (!std::is_sorted(candidates.begin(), candidates.end(), before))
    std::sort(candidates.begin(), candidates.end(), before);
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
}

} // namespace

std::string id_of(const plan_context& at, const graph_plan& plan, const planned_task& task) {
  const auto& node = plan.nodes[task.node];
  return task.push ? sent_task_id(at, node.name, task.index) : pulled_task_id(at, plan, node);
}

bool triggered(const thread_state& state, node_index node) {
  const auto& triggers = state.plan->nodes[node].triggers;
  const auto& seen = state.seen[node];
  for (std::size_t i = 0; i < triggers.size(); ++i) {
    auto c = triggers[i];
    if (!available(state, c))
      continue;
    if (!seen.present || state.versions[c] > (seen.at.empty() ? version{} : seen.at[i]))
      return true;
  }
  return false;
}

std::vector<planned_task> plan_next_tasks(const thread_state& state, const plan_context& at,
                                          const std::vector<channel_index>* updated,
                                          std::vector<std::string>* ignored) {
  std::vector<planned_task> out;
  plan_next_tasks(state, at, updated, out, ignored);
  return out;
}

void plan_next_tasks(const thread_state& state, const plan_context& at,
                     const std::vector<channel_index>* updated, std::vector<planned_task>& out,
                     std::vector<std::string>* ignored) {
  const auto& plan = *state.plan;
  out.clear();
  plan_sends(state, at, out, ignored);
  if (updated && !updated->empty()) {
    boost::container::small_vector<node_index, 16> candidates;
    for (auto c : *updated)
      for (auto n : plan.channels[c].triggers)
        candidates.push_back(n);
    sort_by_name(plan, candidates);
    out.reserve(out.size() + candidates.size());
    for (auto n : candidates)
      if (triggered(state, n))
        out.push_back(pull_task(at, plan, n));
  } else if (state.started()) {
    for (node_index n = 0; n < plan.nodes.size(); ++n)
      if (triggered(state, n))
        out.push_back(pull_task(at, plan, n));
  }
}

bool stops_at(const thread_state& state, const std::vector<std::string>& names,
              const std::vector<planned_task>& tasks) {
  if (names.empty() || tasks.empty())
    return false;
  bool moved = false;
  for (channel_index c = 0; c < state.versions.size() && !moved; ++c)
    moved = state.versions[c] > (state.interrupt_seen ? (*state.interrupt_seen)[c] : version{});
  if (!moved)
    return false;
  bool all = std::find(names.begin(), names.end(), "*") != names.end();
  return std::any_of(tasks.begin(), tasks.end(), [&](const planned_task& t) {
    if (all)
      return t.node != 0;
    return std::find(names.begin(), names.end(), state.plan->nodes[t.node].name) != names.end();
  });
}

planned_task plan_handler(const plan_context& at, const graph_plan& plan, node_index handler,
                          const planned_task& failed) {
  const auto& node = plan.nodes[handler];
  const std::string_view suffix[] = {node.name, names::push, names::error_handler_path, failed.id};
  auto out = failed;
  out.node = handler;
  out.id = node_task_id(at, node.name, suffix);
  return out;
}

planned_task plan_call(const plan_context& at, const std::string& name,
                       std::string_view caller_path, std::uint32_t index) {
  const auto number = std::to_string(index);
  const std::string_view suffix[] = {name, names::push, caller_path, number};
  return {.node = no_index, .push = true, .index = index, .id = node_task_id(at, name, suffix)};
}

std::string call_path_str(std::string_view caller_path, std::uint32_t index) {
  auto number = std::to_string(index);
  std::string out{"~"};
  out.append(names::push).append(", ").append(caller_path).append(", ");
  return out.append(10 - std::min<std::size_t>(number.size(), 10), '0')
    .append(number)
    .append(", 0000000001");
}

std::string handler_path_str(std::string_view path) {
  return std::string{path}.append(", ").append(names::error_handler_path);
}

} // namespace troupe
