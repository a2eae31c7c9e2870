// mcp_offers: tools and graphs as an MCP server lists them, calls' arguments as inputs of runs, and
// results of runs as results of calls. Pure.
#pragma once

#include <troupe/agents/tool.hpp>
#include <troupe/runtime.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Kinds that JSON does not have, as their contents: a message is a map of its members.
value mcp_plain(const value& v);
/// Blocks of a message as MCP's content.
std::vector<value> mcp_content_of(const value& blocks);

/// Whether MCP accepts this name for a tool: 1 to 128 letters, digits, `_`, `-` and `.`.
bool is_mcp_tool_name(std::string_view name) noexcept;

/// The tool as tools/list shows it.
value mcp_definition_of(const tool& t);
/// The same tool; when its result is a map, the map is kept as structured content, too. It stands
/// in the artifact {structured_content}, as in the client's tools.
tool with_structured_content(const tool& t);
/// The result of a call, from the tool's message that answers it.
value mcp_result_of_message(const value& definition, const value& message);

/// A graph as a tool.
struct mcp_graph_tool {
  value definition;         ///< as tools/list shows it
  value input;              ///< the JSON Schema of the graph's input
  bool is_whole = true;     ///< the arguments are the input; else only their member `input`
  bool has_threads = false; ///< `thread_id` and `resume` are arguments, too
};
/// Errors: throws error{invalid_config} for an invalid name, and for a channel `thread_id` or
///         `resume` where these are arguments.
mcp_graph_tool mcp_graph_tool_of(const compiled_graph& graph, const std::string& name,
                                 const std::string& description, bool has_threads);

struct mcp_graph_call {
  std::string thread_id; ///< empty: no thread was named
  run_input input;
  bool resumes = false; ///< `resume` was given
  value answer;         ///< null: resume without one
};
/// Errors: invalid_value that names the argument.
result<mcp_graph_call> read_graph_call(const mcp_graph_tool& called, const value& arguments);

/// The input that resumes a thread whose state was read. An answer names its question, so that one
/// of two simultaneous answers fails.
/// Errors: missing_key: nothing is stored of the thread; unknown_interrupt: it waits for no answer.
result<run_input> resuming_input(const mcp_graph_call& call, const state_snapshot& now);

/// The result of a call whose run has ended.
value mcp_result_of_output(const mcp_graph_tool& called, const value& output);
/// The result of a call whose run has paused: an error that explains how to resume.
/// Shape:  an empty `thread_id`: the run can't be resumed.
value mcp_result_of_pause(std::string_view name, const run_result& paused,
                          const std::string& thread_id);
value mcp_result_of_failure(const error& why);

} // namespace troupe
