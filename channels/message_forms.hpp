// The forms in which a message may be written, and the one in which it is kept.
#pragma once

#include <troupe/message.hpp>

#include <span>
#include <string>

namespace troupe {

/// `given` as a message value or a message removal, with an id; `made_id` tells whether it was made
/// up here.
/// Shape:  a message value; a removal; a map with `role` (or `type`) and `content`; a string: a
///         user's message; a list or one-member map [role, content]. Roles: user, human, assistant,
///         ai, system, developer, tool, function, remove. An id that is missing, null or empty is
///         made up. The result's payload is {role, content, id} and what else was given; its role
///         is user, assistant, system, tool or function; a part of an answer (`chunk`) has become a
///         whole message, with the calls that are whole in it.
/// Errors: throws invalid_update, of the reference's class ValueError.
/// Source: langchain_core/messages/utils.py, _convert_to_message.
value to_message(const value& given, bool& made_id);

/// Whether it has an id that can be used: a text that is not empty.
bool has_message_id(const value& message);

/// Whether a map says of itself that it is a message: by a `role` or `type` that is one's.
bool is_message_map(const value& v);

/// The id of a message value or removal; null when it has none.
const value& message_id(const value& message);

/// Whether this is what to_message returns.
bool is_plain_message(const value& v);

/// Whether this is the removal of all messages, the id `__remove_all__`.
bool removes_all_messages(const value& v);

/// The batch reducer of a delta channel of messages: new ones are appended, one with the id of an
/// older one replaces it, a removal takes it out, and is ignored when there is none.
/// Shape:  each write is one message or a list of them, in any form. Makes no ids: what has none is
///         appended. The removal of all names nothing.
/// Errors: as to_message.
/// Source: langgraph/graph/message.py, _messages_delta_reducer.
value merge_messages(const value& current, std::span<const value> writes);

/// What the reference raises as a ValueError.
error refused_message(std::string text);

} // namespace troupe
