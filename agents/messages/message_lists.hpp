// What is asked of a message when a conversation is cut or sifted.
#pragma once

#include <troupe/agents/messages.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// An id as messages get: 122 random bits as text.
/// Errors: throws error{invalid_update} when the system gives none.
std::string random_id();

/// The role that a role or LangChain's class name stands for: "human" is "user".
std::string_view role_of_type(std::string_view type) noexcept;

/// Whether the message is of one of these types, roles or class names.
bool is_of_type(const value& message, const std::vector<std::string>& types);

/// Whether a text is one of these. What is no text is none of them.
bool names(const std::vector<std::string>& list, const value& text);

/// The message with another member, or another value of one.
value with_member(const value& message, std::string_view name, value v);

/// A system message, or none, with a section behind what it says.
value with_section(const value& system, std::string_view section);

/// Two counts of tokens as one, member by member; null is none.
value add_usage(const value& left, const value& right);

/// The messages without those of tools that answer no call before them.
value without_orphans(const value& messages);

} // namespace troupe
