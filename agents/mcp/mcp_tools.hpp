// mcp_tools: MCP's tools and their results as troupe's. Pure.
#pragma once

#include <troupe/agents/tool.hpp>

#include <string>
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

/// The result of a call for the agent: blocks, with structured content as artifact; or a message
/// with the status `error`.
/// Errors: throws McpError for an invalid result, or one that does not fit its schema.
/// Source: langchain_mcp_adapters/tools.py, _convert_call_tool_result.
tool_output mcp_output(const mcp_definition& called, const value& result, const value& call);

} // namespace troupe
