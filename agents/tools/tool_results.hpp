// From what tools gave back to what their node writes.
#pragma once

#include "agents/messages/history.hpp"

#include <troupe/state_graph.hpp>
#include <troupe/agents/tool_node.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace troupe {

/// In which form a tool node was given its calls.
enum class tool_input : std::uint8_t { state, messages, calls };

/// What the results of a node's calls are checked against.
struct tool_results {
  tool_input kind = tool_input::state;
  const std::string& messages_key;

  /// What a tool gave back, as messages and commands, checked.
  /// Errors: throws node_error (TypeError, ValueError) for what it may not give back.
  std::vector<tool_output::part> checked(const tool_output& given, const value& call) const;

  /// The node's output. Shape: one element a call.
  node_output combined(std::vector<std::vector<tool_output::part>> results) const;

private:
  std::vector<tool_output::part> sorted(const tool_output& given, const value& call) const;
  value checked_message(const value& given, const value& call) const;
  /// Counts the messages that answer the call; `exempt`: it removes all messages.
  command checked_command(command given, const value& call, std::size_t& answers,
                          bool& exempt) const;
  state_update message_update(std::vector<value> messages) const;
};

/// Errors: throws error{node_failed} of class ToolOutputError for a result, given as a value, that
///         does not fit the schema (null: any does).
void require_output(const value& schema, const tool_output& given);

/// Of a tool node whose tasks have so much time (0: no end): then their calls, those whose turn it
/// was, are answered with an error, and the graph goes on with `next`.
node_options late_calls_answered(const tool_node_options& options, std::chrono::milliseconds after,
                                 const tool_turns& turns, std::string next);

/// The message that tells a model of a failed call.
value failed_tool_message(std::string content, const value& call);

} // namespace troupe
