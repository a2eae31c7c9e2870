// message_stream: streams the messages in the output of a body.
#pragma once

#include "tasks/task_scope.hpp"

namespace troupe {

/// Streams the messages in a node's output to readers of the `messages` stream; messages without an
/// id get one.
/// Source: langgraph/pregel/_messages.py, StreamMessagesHandler.on_chain_end.
void stream_messages_of(detail::task_scope& task, node_output& output);

/// Where a task is: {langgraph_step, langgraph_node, langgraph_triggers, langgraph_path,
/// langgraph_checkpoint_ns}, as in the metadata of its messages.
value place_metadata(const detail::task_scope& task);

} // namespace troupe
