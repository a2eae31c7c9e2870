// The message: a typed view of a chat message value, and its coercion from other forms.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A chat message.
/// Shape:  `role`: user, assistant, system or tool. `id`: empty until add_messages gives one.
///         `content`: text or a list of content blocks. `more`: the other members of the message
///         (name, tool_calls, tool_call_id, status, usage), a map.
/// Errors: none.
/// Source: langchain_core/messages.
struct message {
  std::string role = "user";
  value content = {};
  std::string id = {};
  value more = value::map();
};

template <> struct value_traits<message> {
  static value to(const message& m);
  /// Errors: throws error{invalid_value} when `v` is neither a message nor a map with a role.
  static message from(const value& v);
};

/// `given` as a message value or a removal.
/// Shape:  a message value or removal stays as it is. Also accepted are
///         - a map with `role` (or `type`) and `content`, also in OpenAI's form
///         - a string, as a user's message
///         - a list or one-member map [role, content]
///         Roles: user, human, assistant, ai, system, developer, tool, function, remove. Tool calls
///         have a name and `args`, a map; those in OpenAI's form are converted.
/// Errors: throws error{invalid_update}, of the reference's class ValueError, for anything else.
/// Source: langchain_core/messages/utils.py, _convert_to_message.
value coerce_message(const value& given);

/// A message value with an id; a new UUID when the message has none.
/// Errors: throws error{invalid_update} when the system gives no random bytes.
/// Source: langgraph/graph/message.py, add_messages.
value with_message_id(const value& message);

} // namespace troupe
