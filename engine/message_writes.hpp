// Ids for messages that are written to delta channels. Pure, apart from the randomness of an id.
#pragma once

#include "graph/task_write.hpp"

#include <troupe/error.hpp>

namespace troupe {

/// Gives ids to the messages in the writes to delta channels, before they are stored, reported or
/// applied; see with_message_ids.
/// Errors: as with_message_ids.
/// Source: langgraph/pregel/_messages.py, ensure_message_ids.
result<void> give_message_ids(const graph_plan& plan, task_write_list& writes);

} // namespace troupe
