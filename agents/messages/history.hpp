// history: tool calls in a conversation, and whether they have been answered.
#pragma once

#include <troupe/agents/messages.hpp>
#include <troupe/agents/tool.hpp>
#include <troupe/control.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The number of leading messages among which each call, also one that could not be read, has its
/// answer before another call of the same id. Later messages leave no call of them open.
/// Cost:   a list remembers the number, so each message is looked at when it is new.
std::size_t answered_messages(const value& messages);

/// Errors: throws node_error of class ValueError, in the reference's words, when a call of some
///         assistant's message has no tool's message.
/// Cost:   that of the messages after answered_messages().
void require_answered_calls(const value& messages);

/// Whether a message is the tool's message that answers this call.
bool is_answer_to(const value& message, const value& call);

/// The calls of the last assistant's message without an answer after it. Earlier messages do not
/// count: a model may use the id of an earlier call again.
std::vector<value> unanswered_calls(const value& messages);

/// The tools that ran for the calls of the last assistant's message. The name is that in the
/// message that answers a call, since a wrapper may have run another tool, else that in the call.
std::vector<std::string> tools_that_ran(const value& messages);

/// The update that turns the messages into patched_tool_calls(messages); empty when no call is
/// open. It goes before a new message, because a turn may have been given up or have failed.
std::vector<value> patch_of_tool_calls(const value& messages);

/// Whether a tool's message answers this call of message `i`, before another message has a call of
/// the same id.
bool is_answered_behind(std::span<const value> messages, std::size_t i, const value& call);

/// The answer with a different id for each of its calls. Without that, a call that has no id, or
/// that of an earlier call, could not be identified. Shape: also in blocks of its content, and in
/// calls that could not be read.
value with_distinct_calls(const value& answer);

/// The tools whose calls have a turn.
struct tool_turns {
  std::vector<std::string> handoffs = {};      ///< they lead out of the agent
  std::vector<std::string> one_at_a_time = {}; ///< see tool_options::one_at_a_time
  bool empty() const noexcept { return handoffs.empty() && one_at_a_time.empty(); }
};
tool_turns turns_of(const std::vector<tool>& tools);

/// The open calls whose turn it is. A handoff waits for the other calls, whose results would be
/// lost. The first call is due among those of the tools that run one at a time.
std::vector<value> due_calls(std::vector<value> open, const tool_turns& turns);
/// Whether some of these calls lead out of the agent.
bool has_handoff(const std::vector<value>& calls, const std::vector<std::string>& handoffs);
/// Whether the tools must run again for waiting calls, after a task that ran some calls. `messages`
/// are as that task sees them, without the results of concurrent tasks. So all of these tasks may
/// return true, and nothing may be left to run.
bool runs_tools_again(const value& messages, const tool_turns& turns);
/// Calls as the input of a tool node that reads the state when it runs.
value input_of_calls(const std::vector<value>& calls);
/// Calls as one task of the node `tools`.
destination sent_together(const std::vector<value>& calls);

} // namespace troupe
