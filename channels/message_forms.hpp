// Message forms: the forms in which a message may be written, and the one in which it is kept.
#pragma once

#include <troupe/message.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// `given` as a message value or a message removal, with an id; `made_id` reports whether the id
/// was made here.
/// Shape:  `given` is one of
///         - a message value, or a removal
///         - a map with `role` (or `type`) and `content`
///         - a string, which is a user's message
///         - a list or one-member map [role, content]
///         Roles: user, human, assistant, ai, system, developer, tool, function, remove. An id that
///         is missing, null or empty is made here.
///         The result's payload is {role, content, id} and the other given members; its role is
///         user, assistant, system, tool or function. A part of an answer (`chunk`) becomes a whole
///         message with its complete calls.
/// Errors: throws invalid_update, of the reference's class ValueError.
/// Source: langchain_core/messages/utils.py, _convert_to_message.
value to_message(const value& given, bool& made_id);

/// Whether the message has a usable id: a text that is not empty.
bool has_message_id(const value& message);

/// Whether a map declares itself a message: its `role` or `type` is a message's.
bool is_message_map(const value& v);

/// The id of a message value or removal; null without an id.
const value& message_id(const value& message);

/// Whether `v` is in the form that to_message returns.
bool is_plain_message(const value& v);

/// Whether this is the removal of all messages, the id `__remove_all__`.
bool removes_all_messages(const value& v);

/// The places of the messages in `list` that may have the id of one in `update`: those with an
/// equal fingerprint. A long list that grew by appending has a table of ids, which is asked.
/// Order:  ascending; one may stand twice.
std::vector<std::size_t> possible_places(const value& list, std::span<const value> update);

/// The batch reducer of a delta channel of messages. New messages are appended; a message with the
/// id of an older one replaces it. A removal takes the message with its id out, and is ignored
/// without one.
/// Shape:  each write is one message or a list of them, in any form. No ids are made: a message
///         without one is appended. The removal of all names nothing.
/// Errors: as to_message.
/// Source: langgraph/graph/message.py, _messages_delta_reducer.
value merge_messages(const value& current, std::span<const value> writes);

/// The error that the reference raises as a ValueError.
error refused_message(std::string text);

} // namespace troupe
