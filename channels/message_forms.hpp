// The forms in which a message may be written, and the one in which it is kept.
#pragma once

#include <troupe/value.hpp>

#include <string>

namespace troupe {

/// `given` as a message value or a message removal, with an id; `made_id` tells whether it was made
/// up here.
/// Shape:  a message value; a removal; a map with `role` (or `type`) and `content`; a string: a
///         user's message; a list or one-member map [role, content]. Roles: user, human, assistant,
///         ai, system, developer, tool, remove. An id that is missing, null or empty is made up.
///         The result's payload is {role, content, id} and what else was given; its role is user,
///         assistant, system or tool; a part of an answer (`chunk`) has become a whole message.
/// Errors: throws invalid_update, of the reference's class ValueError.
/// Source: langchain_core/messages/utils.py, _convert_to_message.
value to_message(const value& given, bool& made_id);

/// The id of a message value or removal; null when it has none.
const value& message_id(const value& message);

/// Whether this is what to_message returns.
bool is_plain_message(const value& v);

/// Whether this is the removal of all messages, the id `__remove_all__`.
bool removes_all_messages(const value& v);

/// What the reference raises as a ValueError.
error refused_message(std::string text);

} // namespace troupe
