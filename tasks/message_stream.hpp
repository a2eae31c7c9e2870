// message_stream: streams the messages in the output of a body.
#pragma once

#include "tasks/task_scope.hpp"

namespace troupe {

/// Streams the messages in a node's output to readers of the `messages` stream; messages without an
/// id get one.
/// Source: langgraph/pregel/_messages.py, StreamMessagesHandler.on_chain_end.
void stream_messages_of(detail::task_scope& task, node_output& output);

} // namespace troupe
