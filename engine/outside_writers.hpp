// run_writers: what a node's writers make of values from outside. Pure.
#pragma once

#include "engine/thread_state.hpp"
#include "graph/task_write.hpp"

#include <troupe/runtime.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// An update in the name of a node.
struct outside_task {
  node_index node = 0;
  std::string id;
  std::string checkpoint_ns;
  std::int64_t step = 0; // of the checkpoint that is updated
  const std::optional<state_update>* values = nullptr;
  const destinations* goto_ = nullptr; // null: none
};

/// The single value that an update stands for.
value whole_value(const state_update& update);

/// The writes of a run of the node whose body returned these values and destinations: the values,
/// the destinations, its edges, then its routes. The body does not run. Routes read `state` with
/// these writes applied.
/// Errors: invalid_update (no map where one is needed, an unknown destination, or a route that asks
///         a question), and errors of a route.
/// Source: langgraph/pregel/main.py, Pregel.bulk_update_state.
result<task_write_list> run_writers(const thread_state& state, const run_config& config,
                                    const outside_task& update);

} // namespace troupe
