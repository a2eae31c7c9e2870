// Values as LangGraph's JsonPlusSerializer writes them: msgpack whose extension types name Python
// classes.
#pragma once

#include <troupe/value.hpp>

#include <string>
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

/// The value of a channel as such a blob. The set of a join is the ascending list of what it holds.
/// Errors: as from_reference_msgpack, naming the channel, too.
/// Source: langgraph/checkpoint/postgres/base.py, checkpoint_blobs.
value from_reference_channel(const std::string& channel, std::string_view data);

/// A checkpoint as such a blob: a map, with the values of channels under `channel_values`. The sets
/// of joins are the ascending lists of what they hold.
/// Errors: as from_reference_msgpack, naming the channel, too.
/// Source: langgraph/checkpoint/base, Checkpoint.
value from_reference_checkpoint(std::string_view data);

/// The blob of type "msgpack" that LangGraph reads back as this value: messages as those of
/// LangChain, sends, questions, overwrites, delta snapshots and times as its own classes, an error
/// as its text.
/// Shape:  with `is_join`, a list of texts becomes the set that a join holds.
/// Errors: throws error{invalid_value} for a message whose role LangChain has no class for.
/// Source: langgraph/checkpoint/serde/jsonplus.py, _msgpack_default.
std::string to_reference_msgpack(const value& v, bool is_join = false);

} // namespace troupe::cli
