// tool_results: from the results of tools to the writes of their node.
#pragma once

#include "agents/messages/history.hpp"

#include <troupe/agents/tool_node.hpp>
#include <troupe/state_graph.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace troupe {

/// The form in which a tool node got its calls.
enum class tool_input : std::uint8_t { state, messages, calls };

/// The checks on the results of a node's calls.
struct tool_results {
  tool_input kind = tool_input::state;
  const std::string& messages_key;

  /// A tool's result as messages and commands, checked.
  /// Errors: throws node_error (TypeError, ValueError) for an invalid result.
  std::vector<tool_output::part> checked(const tool_output& given, const value& call) const;

  /// The node's output. Shape: one element a call.
  node_output combined(std::vector<std::vector<tool_output::part>> results) const;

private:
  std::vector<tool_output::part> sorted(const tool_output& given, const value& call) const;
  value checked_message(const value& given, const value& call) const;
  /// Counts the messages that answer the call; `exempt`: the command removes all messages.
  command checked_command(command given, const value& call, std::size_t& answers,
                          bool& exempt) const;
  state_update message_update(std::vector<value> messages) const;
};

/// Errors: throws error{node_failed} of class ToolOutputError for a result, given as a value, that
///         does not fit the schema (null: any fits).
void require_output(const value& schema, const tool_output& given);

/// Options of a tool node whose tasks have this much time (0: no limit). When it is over, the calls
/// whose turn it was are answered with an error, and the graph continues with `next`.
node_options late_calls_answered(const tool_node_options& options, std::chrono::milliseconds after,
                                 const tool_turns& turns, std::string next);

/// The message that reports a failed call to a model.
value failed_tool_message(std::string content, const value& call);

} // namespace troupe
