// Ids for the messages that are written to a delta channel. They are made before the write is
// stored or applied, so that the stored write is read back unchanged.
#pragma once

#include <troupe/channel.hpp>

namespace troupe {

/// The write, with an id in every message.
/// Shape:  a message stands in the write itself, in a list or in an overwrite. Where the channel
///         folds messages, every form becomes a message value; elsewhere only message values and
///         maps with a message's role do. Everything else, and a form that turns out not to be a
///         message, stays as it is. A write in which nothing changes is shared.
/// Errors: invalid_update when the system gives no random bytes for an id.
/// Source: langgraph/pregel/_messages.py, ensure_message_ids.
result<value> with_message_ids(const channel_spec& spec, const value& write);

} // namespace troupe
