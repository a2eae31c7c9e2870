// Calls of tools whose arguments could not be read (`invalid_tool_calls`): what the model is told
// of them, and after how many of its answers that is given up.
//
// Invariants:
//  - a conversation that a model is sent has an answer to each such call; providers refuse others.
#pragma once

#include <troupe/control.hpp>
#include <troupe/error.hpp>
#include <troupe/agents/messages.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace troupe {

/// Whether an answer calls for tools, and no call of it could be read.
bool is_malformed(const value& answer);

/// A tool's message for each call of the answer that could not be read, with what was wrong.
/// Shape:  in the order of the calls; calls without an id are left out.
std::vector<value> malformed_call_errors(const value& answer);

/// The answers at the end of the conversation that are all malformed, since the last question.
std::size_t malformed_in_a_row(const value& messages);

/// What ends a run after `count` malformed answers in a row, of class MalformedToolCallError.
node_error malformed_too_often(const value& answer, std::size_t count);

/// The messages with an error after each answer's calls that could not be read and have no tool's
/// message; nothing when there are none.
std::optional<value> with_malformed_answered(const value& messages);

/// Likewise, and after calls that were never run.
std::optional<value> repaired_history(const value& messages);

} // namespace troupe
