// Ids for the messages that are written to a delta channel: made before the write is stored or
// applied, so that it reads back as it was.
#pragma once

#include <troupe/channel.hpp>

namespace troupe {

/// The write, in which every message has an id.
/// Shape:  a message stands in the write itself, in a list or in an overwrite. Where the channel
///         folds messages, one in any form becomes a message value; elsewhere only message values
///         and maps that name a message's role do. Everything else, and what is no message after
///         all, stays as it is. A write in which nothing changes is shared.
/// Errors: invalid_update when the system gives no random bytes for an id.
/// Source: langgraph/pregel/_messages.py, ensure_message_ids.
result<value> with_message_ids(const channel_spec& spec, const value& write);

} // namespace troupe
