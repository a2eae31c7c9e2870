// message_lists: questions about messages when a conversation is cut or filtered.
#pragma once

#include <troupe/agents/messages.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// An id for a message: 122 random bits as text.
/// Errors: throws error{invalid_update} when the system gives no random bytes.
std::string random_id();

/// The role that a role or LangChain's class name stands for: "human" is "user".
std::string_view role_of_type(std::string_view type) noexcept;

/// Whether the message is of one of these types, which are roles or class names.
bool is_of_type(const value& message, const std::vector<std::string>& types);

/// Whether a text is in the list; false for a value that is not a text.
bool names(const std::vector<std::string>& list, const value& text);

/// The message with a member added or replaced.
value with_member(const value& message, std::string_view name, value v);

/// A system message, or a new one, with a section after its text.
value with_section(const value& system, std::string_view section);

/// The sum of two token counts, member by member; null counts as empty.
value add_usage(const value& left, const value& right);

/// The messages without those of tools that answer no call before them.
value without_orphans(const value& messages);

} // namespace troupe
