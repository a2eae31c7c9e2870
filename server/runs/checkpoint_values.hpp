// checkpoint_values: what clients see as the values of a thread.
#pragma once

#include <troupe/runtime.hpp>

namespace troupe::server {

/// Whether a state has, besides its checkpoint, what tasks wrote that have ended: their step has
/// not, usually since a question waits.
bool has_unfinished_step(const state_snapshot& newest);

/// The values of a thread's newest checkpoint, whose state is `newest`, without those writes.
/// Shape:  a map, in the form of the wire.
/// Errors: as try_get_state.
/// Source: langgraph_api, a recorded server: `values` of GET /threads/{id}, the answers of waits.
result<value> checkpoint_values(const app<>& graph, const state_snapshot& newest);

} // namespace troupe::server
