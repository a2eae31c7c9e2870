// stream_payloads: the payloads of stream parts. Pure.
// Source: langgraph/pregel/_io.py, debug.py.
#pragma once

#include "engine/plan.hpp"
#include "engine/stored_writes.hpp"
#include "engine/thread_state.hpp"

#include <troupe/runtime.hpp>

#include <span>
#include <string>
#include <vector>

namespace troupe {

/// A finished task's writes to the shown channels. A map; a list of one-member maps when the task
/// wrote a channel twice; null when it wrote none of them. For a bare channel: the value, or a list
/// of values. For a task that a body started: its return value.
value update_payload(const graph_plan& plan, const task_write_list& writes,
                     const shown_channels& shown);

/// The namespace of a task that is a graph, or declares to call one; empty for other tasks and for
/// graphs that store nothing. Reading under it finds the task's state: see kept_namespace.
std::string subgraph_namespace(const graph_plan& plan, std::string_view checkpoint_ns,
                               const planned_task& task);

/// `{node: update}`; with `cached` also the metadata that marks it as cached.
value updates_part(const std::string& node, value update, bool cached);
/// `{"__interrupt__": [questions]}`; the list is empty for a breakpoint.
value interrupts_part(const std::vector<interrupt>& questions);

/// A task's result as snapshots and result parts show it: a map of its writes to channels that are
/// shown. A channel that was written twice has {"$writes": [...]}.
value result_payload(const graph_plan& plan, const task_write_list& writes,
                     const shown_channels& shown);
/// As result_payload(), but always a map, also for a single-value graph or a started task.
value result_map(const graph_plan& plan, const task_write_list& writes,
                 const shown_channels& shown);

/// The metadata of a task as its part shows them: with the tags, without its place. The tags that
/// LangChain gives steps of a sequence are left out.
/// Source: langgraph/pregel/debug.py, map_debug_tasks.
value shown_task_metadata(const value& metadata, std::span<const std::string> tags);

/// The parts at a task's start and at its end. `worker`: the worker it ran on; empty: this process.
/// Shape:  without the member `metadata` when `metadata` is null.
value task_part(const plan_node& node, const planned_task& task, const value& input,
                const graph_plan& plan, const value& metadata);
value task_result_part(const plan_node& node, const std::string& id, const value& error,
                       const value& result, const std::vector<interrupt>& questions,
                       const std::string& worker);

/// A failure as it is stored and shown.
value error_value(const error& err);

/// The data that the checkpoints stream shows.
struct checkpoint_view {
  std::string thread_id;
  std::string checkpoint_ns;
  std::string checkpoint_id;
  std::string parent_id; // empty: no parent
  value values;
  value metadata;
  value configurable = {}; // the run's; a map or null
  const graph_plan* plan = nullptr;
  const std::vector<planned_task>* tasks = nullptr;
  const stored_writes* stored = nullptr;
  const shown_channels* shown = nullptr; // those of a task's result
};
value checkpoint_part(const checkpoint_view& view);

/// The envelope of the debug stream. Units: `step` of the checkpoint or task; `ts` ISO-8601.
value debug_part(std::string_view type, std::int64_t step, const std::string& ts, value payload);

} // namespace troupe
