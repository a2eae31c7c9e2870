// update_nodes: the node that an update from outside acts as. Pure.
#pragma once

#include "engine/thread_state.hpp"

#include <troupe/runtime.hpp>

#include <vector>

namespace troupe {

/// The node that each update of a superstep acts as: the node that the update names. A single
/// update without a node acts as the node that ran last, or as START on a thread where no node ran.
/// Order:  that of `updates`.
/// Errors: invalid_update, with the reference's text: an unknown node, several updates of which one
///         names no node, or two nodes that ran last.
/// Source: langgraph/pregel/main.py, Pregel.bulk_update_state.
result<std::vector<node_index>> update_nodes(const thread_state& state,
                                             const std::vector<outside_update>& updates);

} // namespace troupe
