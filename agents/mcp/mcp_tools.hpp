// mcp_tools: MCP's tools and their results as troupe's. Pure.
#pragma once

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/tool.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A tool as a server lists it.
struct mcp_definition {
  std::string name; ///< the server's name for it
  std::string tool; ///< the name for models
  std::string description;
  value schema;        ///< of its arguments
  value output_schema; ///< of its structured content; null: unspecified
};

/// Adds the tools of a page of `tools/list` to `out`.
/// Shape:  `prefix` stands before names for models; characters that models refuse in a name become
///         `_`. Tools that only run as tasks of the server (execution.taskSupport `required`) are
///         left out, since every plain call of them is refused.
/// Errors: node_failed of class McpError for an invalid page; invalid_value for more than
///         limits::mcp_tools_max tools, and for two tools of one name.
result<void> add_mcp_page(const value& page, const std::string& prefix,
                          std::vector<mcp_definition>& out);

/// A block of a message. `doing`: the method of the answer that has it, for errors.
/// Errors: throws McpError for content that messages cannot hold.
value mcp_block(const value& content, std::string_view doing);

/// The messages of `prompts/get`. Errors: throws McpError.
value mcp_messages(const value& result);

/// Adds the entries of a page to `out`; `member` names their list in it.
/// Errors: node_failed of class McpError for an invalid page; invalid_value for more than
///         limits::mcp_entries_max entries.
result<void> add_mcp_entries(const value& page, const char* method, const char* member,
                             std::vector<value>& out);

/// The params of a progress notification. Shape: members that are not valid count as missing.
mcp_progress mcp_progress_of(const value& params);

/// The result of a call for the agent: blocks, with structured content as artifact; or a message
/// with the status `error`.
/// Errors: throws McpError for an invalid result, or one that does not fit its schema.
/// Source: langchain_mcp_adapters/tools.py, _convert_call_tool_result.
tool_output mcp_output(const mcp_definition& called, const value& result, const value& call);

} // namespace troupe
