// Calls, results and tools as the text that a model without tools of its own reads and writes.
// Pure.
#pragma once

#include <troupe/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What a request's tool_choice asks for, in our words or in a provider's.
struct wanted_calls {
  bool may = true;
  bool must = false;
  std::optional<std::string> only = std::nullopt; ///< of the tool of this name
};
/// Errors: throws error{invalid_value} for what is no choice.
wanted_calls wanted_calls_of(const value& tool_choice);

/// What the system message says of tools, and of the data that is to be answered with; empty where
/// there is neither.
std::string told_tools(const value& definitions, const wanted_calls& wanted,
                       const value& response_schema);

/// A conversation in which calls are texts of the assistant, and the results that follow a text of
/// the user; `how` ends the system message, or is one.
value told_messages(const value& messages, const std::string& how);

/// An answer whose text is calls, with those in `tool_calls`, or in `invalid_tool_calls` where it
/// was cut off; nothing for any other.
std::optional<value> answer_with_calls(const value& answer);

/// Whether a text that begins with this is calls.
bool begins_calls(std::string_view text);

/// The parts of an answer with calls, of those in which its text came.
std::vector<value> parts_with_calls(const std::vector<value>& came, const value& answer);

} // namespace troupe
