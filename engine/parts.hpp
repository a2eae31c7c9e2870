// The payloads of stream parts. Pure.
// Source: langgraph/pregel/_io.py, debug.py.
#pragma once

#include "engine/plan.hpp"
#include "engine/stored_writes.hpp"
#include "engine/thread_state.hpp"

#include <troupe/runtime.hpp>

#include <string>
#include <vector>

namespace troupe {

/// What a finished task wrote to the shown channels: a map; a list of one-member maps when it wrote
/// a channel twice; null when it wrote none of them; for a bare one the value, a list of them when
/// it wrote several. Of a task that a body started: what it returned.
value update_payload(const graph_plan& plan, const task_write_list& writes,
                     const shown_channels& shown);

/// The namespace of a task that is, or says it calls, a graph; empty for others and for graphs that
/// store nothing. Reading under it finds the task's state: see kept_namespace.
std::string subgraph_namespace(const graph_plan& plan, std::string_view checkpoint_ns,
                               const planned_task& task);

/// `{node: update}`; with `cached` also the metadata that says so.
value updates_part(const std::string& node, value update, bool cached);
/// `{"__interrupt__": [questions]}`; no questions for a breakpoint.
value interrupts_part(const std::vector<interrupt>& questions);

/// A task's result as snapshots and result parts show it: a map of what it wrote to state
/// channels; of a channel written twice {"$writes": [...]}.
value result_payload(const graph_plan& plan, const task_write_list& writes);
/// The same without what a single-value graph or a started task makes of it: always a map.
value result_map(const graph_plan& plan, const task_write_list& writes);

/// When a task starts, and when it ends. `worker`: whose process it ran in; empty: this one.
/// Shape:  without the member `metadata` when there is none.
value task_part(const plan_node& node, const planned_task& task, const value& input,
                const graph_plan& plan, const value& metadata);
value task_result_part(const plan_node& node, const std::string& id, const value& error,
                       const value& result, const std::vector<interrupt>& questions,
                       const std::string& worker);

/// A failure as it is stored and shown.
value error_value(const error& err);

/// What the checkpoints stream shows.
struct checkpoint_view {
  std::string thread_id;
  std::string checkpoint_ns;
  std::string checkpoint_id;
  std::string parent_id; // empty: none
  value values;
  value metadata;
  const graph_plan* plan = nullptr;
  const std::vector<planned_task>* tasks = nullptr;
  const stored_writes* stored = nullptr;
};
value checkpoint_part(const checkpoint_view& view);

/// The envelope of the debug stream. Units: `step` of the checkpoint or task; `ts` ISO-8601.
value debug_part(std::string_view type, std::int64_t step, const std::string& ts, value payload);

} // namespace troupe
