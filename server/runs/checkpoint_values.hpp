// checkpoint_values: what clients see as the values of a thread.
#pragma once

#include <troupe/runtime.hpp>

namespace troupe::server {

/// The values of a thread's newest checkpoint, whose state is `newest`. While a question waits, the
/// state also has what the tasks beside it wrote; that is left out here.
/// Shape:  a map, in the form of the wire.
/// Errors: as try_get_state.
/// Source: langgraph_api, a recorded server: `values` of GET /threads/{id}, the answers of waits.
result<value> checkpoint_values(const app<>& graph, const state_snapshot& newest);

} // namespace troupe::server
