// plan_next_tasks: which tasks run next. Pure.
#pragma once

#include "engine/thread_state.hpp"
#include "graph/checkpoint_ns.hpp"
#include "graph/task_id.hpp"
#include "graph/task_write.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// One execution of a node in a step.
struct planned_task {
  node_index node = 0;
  bool push = false;       // started by a send
  std::uint32_t index = 0; // place of the send
  std::string id = {};     // may be empty: nothing has asked for it yet
  value arg = {};          // argument of the send
  std::optional<timeout_policy> timeout = std::nullopt; // time-out of the send
};

/// The tasks to run next.
/// Shape:  `updated`: the channels that the last step changed; nullptr: unknown, then all nodes are
///         checked. Without `at.checkpoint_id` the tasks get no ids; id_of() makes one later.
/// Order:  sends by index, then nodes: by name when `updated` is known, else in the order in which
///         they were added.
/// Errors: none. A send to an unknown node is dropped; its name goes to `ignored`.
/// Source: langgraph/pregel/_algo.py, prepare_next_tasks.
std::vector<planned_task> plan_next_tasks(const thread_state& state, const plan_context& at,
                                          const std::vector<channel_index>* updated,
                                          std::vector<std::string>* ignored = nullptr);
/// The same in the place of older tasks.
void plan_next_tasks(const thread_state& state, const plan_context& at,
                     const std::vector<channel_index>* updated, std::vector<planned_task>& out,
                     std::vector<std::string>* ignored = nullptr);

/// The id of a task that plan_next_tasks planned.
std::string id_of(const plan_context& at, const graph_plan& plan, const planned_task& task);

/// Whether one of a node's trigger channels is available and has a version that the node has not
/// seen.
bool triggered(const thread_state& state, node_index node);

/// Whether a breakpoint at one of `names` ("*": all but START) stops before or after `tasks`.
/// Source: langgraph/pregel/_algo.py, should_interrupt.
bool stops_at(const thread_state& state, const std::vector<std::string>& names,
              const std::vector<planned_task>& tasks);

/// The task that handles the failure of another one.
/// Shape:  `at.checkpoint_ns` is the failed task's.
planned_task plan_handler(const plan_context& at, const graph_plan& plan, node_index handler,
                          const planned_task& failed);

/// A task that the `index`-th call of another one starts.
/// Shape:  `at.checkpoint_ns` is the caller's; `caller_path` as task_path_str gives it.
planned_task plan_call(const plan_context& at, const std::string& name,
                       std::string_view caller_path, std::uint32_t index);

/// The path of a started task, and of one that handles the failure of the task at `path`.
std::string call_path_str(std::string_view caller_path, std::uint32_t index);
std::string handler_path_str(std::string_view path);

/// The order in which tasks' writes are applied: nodes by name, then sends by index.
struct task_order {
  bool operator()(const graph_plan& plan, const planned_task& a, const planned_task& b) const {
    if (a.push != b.push)
      return !a.push;
    if (a.push)
      return a.index < b.index;
    return plan.nodes[a.node].name < plan.nodes[b.node].name;
  }
};

} // namespace troupe
