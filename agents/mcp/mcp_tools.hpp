// MCP's tools and their results as troupe's. Pure.
#pragma once

#include <troupe/agents/tool.hpp>

#include <string>
#include <vector>

namespace troupe {

/// A tool as a server lists it.
struct mcp_definition {
  std::string name; ///< the server's
  std::string tool; ///< the one that models are told
  std::string description;
  value schema;        ///< of its arguments
  value output_schema; ///< of its structured content; null: none
};

/// Adds the tools of a page of `tools/list` to `out`.
/// Shape:  `prefix` stands before names for models; what they refuse in a name becomes `_`.
///         Tools that run as tasks of the server alone (execution.taskSupport `required`) are left
///         out: every plain call of one is refused.
/// Errors: node_failed of class McpError for what is no such page; invalid_value for more than
///         limits::mcp_tools_max tools, and for two of one name.
result<void> add_mcp_page(const value& page, const std::string& prefix,
                          std::vector<mcp_definition>& out);

/// What a call's result is for the agent: blocks, and what is structured as artifact; or a message
/// with the status `error`.
/// Errors: throws McpError for a result that is none, or does not fit its schema.
/// Source: langchain_mcp_adapters/tools.py, _convert_call_tool_result.
tool_output mcp_output(const mcp_definition& called, const value& result, const value& call);

} // namespace troupe
