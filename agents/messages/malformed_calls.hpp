// malformed_calls: calls of tools whose arguments could not be read (`invalid_tool_calls`). This
// file makes the errors that the model gets, and bounds the number of such answers.
//
// Invariants:
//  - a conversation that is sent to a model has an answer to each such call, since providers refuse
//    others.
#pragma once

#include <troupe/agents/messages.hpp>
#include <troupe/control.hpp>
#include <troupe/error.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace troupe {

/// Whether an answer calls tools, and none of its calls could be read.
bool is_malformed(const value& answer);

/// A tool's message with the error, for each call of the answer that could not be read.
/// Shape:  in the order of the calls; calls without an id are left out.
std::vector<value> malformed_call_errors(const value& answer);

/// The number of malformed answers at the end of the conversation, since the last question.
std::size_t malformed_in_a_row(const value& messages);

/// The error that ends a run after `count` malformed answers in a row, of class
/// MalformedToolCallError.
node_error malformed_too_often(const value& answer, std::size_t count);

/// The messages with an error for each unreadable call that has no tool's message; nullopt without
/// such a call.
std::optional<value> with_malformed_answered(const value& messages);

/// The same, with errors also for calls that were never run.
std::optional<value> repaired_history(const value& messages);

} // namespace troupe
