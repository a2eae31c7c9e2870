// Tool calls in a conversation, and whether they have been answered.
#pragma once

#include <troupe/control.hpp>
#include <troupe/agents/messages.hpp>
#include <troupe/agents/tool.hpp>

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

/// The tools that ran for the calls of the last assistant's message: the name in the message that
/// answers a call, as a wrapper may have run another tool, else the name in the call.
std::vector<std::string> tools_that_ran(const value& messages);

/// The update by which the messages become patched_tool_calls(messages); empty where no call is
/// open. It goes before a new message, as a turn may have been given up or failed.
std::vector<value> patch_of_tool_calls(const value& messages);

/// Whether a tool's message answers this call of message `i`, before another message has a call of
/// the same id.
bool is_answered_behind(std::span<const value> messages, std::size_t i, const value& call);

/// The answer with an id for each call of its own: a call without one, or with that of a call
/// before it, could not be told apart from others. Shape: blocks of its content too, and calls that
/// could not be read.
value with_distinct_calls(const value& answer);

/// The tools whose calls have a turn.
struct tool_turns {
  std::vector<std::string> handoffs = {};      ///< they lead out of the agent
  std::vector<std::string> one_at_a_time = {}; ///< as tool_options says
  bool empty() const noexcept { return handoffs.empty() && one_at_a_time.empty(); }
};
tool_turns turns_of(const std::vector<tool>& tools);

/// Of open calls those whose turn it is: what leads out of the agent waits for the others, whose
/// results would be lost; of those that run one at a time the first is due.
std::vector<value> due_calls(std::vector<value> open, const tool_turns& turns);
/// Whether some of these calls lead out of the agent.
bool has_handoff(const std::vector<value>& calls, const std::vector<std::string>& handoffs);
/// Behind a task that ran some calls: whether the tools are to run again, for those that waited.
/// `messages` as that task sees them, without what ran beside it: then all say so, and it may be
/// that nothing is left to run.
bool runs_tools_again(const value& messages, const tool_turns& turns);
/// Calls as the input of a tool node, which reads the state when it runs.
value input_of_calls(const std::vector<value>& calls);
/// Calls as one task of the node `tools`.
destination sent_together(const std::vector<value>& calls);

} // namespace troupe
