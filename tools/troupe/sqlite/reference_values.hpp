// Values as LangGraph's JsonPlusSerializer writes them: msgpack whose extension types name Python
// classes.
#pragma once

#include <troupe/value.hpp>

#include <string_view>

namespace troupe::cli {

/// The value that a blob of type "msgpack" holds. No class is looked up anywhere: chat messages,
/// RemoveMessage, Send, Interrupt, Overwrite and delta snapshots have a value of their own here,
/// nothing else has.
/// Units:  at most limits::value_size_bytes_max bytes and limits::value_depth_max levels; allocates
///         no more than a small multiple of data.size().
/// Errors: throws error{invalid_value}, naming the class or what does not fit.
/// Source: langgraph/checkpoint/serde/jsonplus.py, _msgpack_default.
value from_reference_msgpack(std::string_view data);

/// A checkpoint as such a blob: a map, with the values of channels under `channel_values`. The sets
/// of joins are the ascending lists of what they hold.
/// Errors: as from_reference_msgpack, naming the channel, too.
/// Source: langgraph/checkpoint/base, Checkpoint.
value from_reference_checkpoint(std::string_view data);

} // namespace troupe::cli
