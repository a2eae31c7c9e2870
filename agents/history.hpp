// Tool calls in a conversation, and whether they have been answered.
#pragma once

#include <troupe/messages.hpp>

#include <vector>

namespace troupe {

/// Errors: throws node_error of class ValueError, in the reference's words, when a call of some
///         assistant's message has no tool's message.
/// Cost:   linear, where the answers stand behind their calls.
void require_answered_calls(const value& messages);

/// The calls of the last assistant's message that no tool's message answers.
std::vector<value> unanswered_calls(const value& messages);

} // namespace troupe
