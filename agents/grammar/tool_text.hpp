// tool_text: calls, results and tools as text, for a model without tools of its own. Pure.
#pragma once

#include <troupe/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The meaning of a request's tool_choice, in troupe's words or a provider's.
struct wanted_calls {
  bool may = true;
  bool must = false;
  std::optional<std::string> only = std::nullopt; ///< only the tool of this name
};
/// Errors: throws error{invalid_value} for an unknown choice.
wanted_calls wanted_calls_of(const value& tool_choice);

/// The section of the system message about tools and the data to answer with; empty without either.
std::string told_tools(const value& definitions, const wanted_calls& wanted,
                       const value& response_schema);

/// A conversation in which calls are texts of the assistant, and their results texts of the user.
/// `how` is appended to the system message, or becomes one.
value told_messages(const value& messages, const std::string& how);

/// An answer whose text is calls, with the calls in `tool_calls`; calls that were cut off are in
/// `invalid_tool_calls`. nullopt for any other answer.
std::optional<value> answer_with_calls(const value& answer);

/// Whether a text with this beginning is calls.
bool begins_calls(std::string_view text);

/// The parts of an answer with calls, made from the parts in which its text came.
std::vector<value> parts_with_calls(const std::vector<value>& came, const value& answer);

} // namespace troupe
