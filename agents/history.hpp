// Tool calls in a conversation, and whether they have been answered.
#pragma once

#include <troupe/control.hpp>
#include <troupe/messages.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Errors: throws node_error of class ValueError, in the reference's words, when a call of some
///         assistant's message has no tool's message.
/// Cost:   linear, where the answers stand behind their calls.
void require_answered_calls(const value& messages);

/// Whether a message is the tool's message that answers this call.
bool is_answer_to(const value& message, const value& call);

/// The calls of the last assistant's message that no tool's message behind it answers: a model may
/// use the id of an earlier call again.
std::vector<value> unanswered_calls(const value& messages);

/// Whether a tool's message answers this call of message `i`, before another message has a call of
/// the same id.
bool is_answered_behind(std::span<const value> messages, std::size_t i, const value& call);

/// The answer with an id for each call of its own: a call without one, or with that of a call
/// before it, could not be told apart from others. Shape: blocks of its content too.
value with_distinct_calls(const value& answer);

/// Of open calls those whose turn it is: what leads out of the agent waits for the others, whose
/// results would be lost.
std::vector<value> due_calls(std::vector<value> open, const std::vector<std::string>& handoffs);
/// Whether some of these calls lead out of the agent.
bool has_handoff(const std::vector<value>& calls, const std::vector<std::string>& handoffs);
/// Calls as one task of the node `tools`, which reads the state when it runs.
destination sent_together(const std::vector<value>& calls);

} // namespace troupe
