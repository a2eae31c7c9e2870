// A chat message as a typed view of a message value.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A chat message.
/// Shape:  `role` user, assistant, system or tool; `id` empty until add_messages gives one;
///         `content` text or a list of content blocks; `more`: the further members of the message
///         (name, tool_calls, tool_call_id, status, usage), a map.
/// Source: langchain_core/messages; spec/agents.md.
struct message {
  std::string role = "user";
  value content = {};
  std::string id = {};
  value more = value::map();
};

template <> struct value_traits<message> {
  static value to(const message& m);
  /// Errors: throws error{invalid_value} when it is neither a message nor a map with a role.
  static message from(const value& v);
};

} // namespace troupe
