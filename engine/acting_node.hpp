// In whose name an update from outside acts. Pure.
#pragma once

#include "engine/thread_state.hpp"

#include <troupe/runtime.hpp>

#include <vector>

namespace troupe {

/// The node each update of a superstep acts as: the one it names; a single update that names none
/// acts as the node that ran last, and as START on a thread where no node ran.
/// Order:  that of `updates`.
/// Errors: invalid_update, with the reference's text: an unknown node, none named by one of
///         several, or two nodes that ran last.
/// Source: langgraph/pregel/main.py, bulk_update_state.
result<std::vector<node_index>> acting_nodes(const thread_state& state,
                                             const std::vector<outside_update>& updates);

} // namespace troupe
