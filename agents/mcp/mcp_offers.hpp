// Tools and graphs as a server of MCP lists them, arguments of calls as inputs of runs, and what
// came of runs as results of calls. Pure.
#pragma once

#include <troupe/runtime.hpp>
#include <troupe/agents/tool.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// What MCP takes for a tool: 1 to 128 letters, digits, `_`, `-` and `.`.
bool is_mcp_tool_name(std::string_view name) noexcept;

/// The tool as tools/list shows it.
value mcp_definition_of(const tool& t);
/// The same tool; what it gives back as a map is kept as structured content, too: in the artifact
/// {structured_content}, where the client's tools have it.
tool with_structured_content(const tool& t);
/// The result of a call that a tool's message answers.
value mcp_result_of_message(const value& definition, const value& message);

/// A graph as a tool.
struct mcp_graph_tool {
  value definition;         ///< as tools/list shows it
  value input;              ///< the JSON Schema of the graph's input
  bool is_whole = true;     ///< the arguments are the input; else their member `input` is
  bool has_threads = false; ///< `thread_id` and `resume` are arguments, too
};
/// Errors: throws error{invalid_config} for a name that is none, and for a channel `thread_id` or
///         `resume` where these are arguments.
mcp_graph_tool mcp_graph_tool_of(const compiled_graph& graph, const std::string& name,
                                 const std::string& description, bool has_threads);

struct mcp_graph_call {
  std::string thread_id; ///< empty: none was named
  run_input input;
  bool resumes = false; ///< `resume` was given: `input` is its answer, or nothing
  value answer;         ///< null: resume without one
};
/// Errors: invalid_value that names the argument.
result<mcp_graph_call> read_graph_call(const mcp_graph_tool& called, const value& arguments);

/// How a thread is resumed that was looked at. An answer names its question, so that of two answers
/// at once one fails.
/// Errors: missing_key: nothing is stored of the thread; unknown_interrupt: it waits for nothing.
result<run_input> resuming_input(const mcp_graph_call& call, const state_snapshot& now);

/// The result of a call whose run has ended.
value mcp_result_of_output(const mcp_graph_tool& called, const value& output);
/// The result of a call whose run has paused: an error that tells how to go on.
/// Shape:  an empty `thread_id`: it can't.
value mcp_result_of_pause(std::string_view name, const run_result& paused,
                          const std::string& thread_id);
value mcp_result_of_failure(const error& why);

} // namespace troupe
