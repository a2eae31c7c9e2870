// mcp_readable: resources and prompts as an MCP server lists them, and their results. Pure.
#pragma once

#include <troupe/agents/mcp_server.hpp>

#include <string>
#include <vector>

namespace troupe {

/// The entries of the lists.
/// Errors: throws error{invalid_config} for an empty URI, name or function, a URI of more than
///         limits::mcp_uri_bytes_max bytes, and a template that is not valid.
value mcp_definition_of(const mcp_resource& r);
value mcp_definition_of(const mcp_resource_template& t);
value mcp_definition_of(const mcp_prompt& p);

/// The result of resources/read. Text that is not UTF-8 is sent as bytes.
value mcp_result_of_content(const std::string& uri, const std::string& mime_type,
                            const mcp_content& content);
/// The result of prompts/get.
/// Errors: throws error{invalid_value} for a message of another role.
value mcp_result_of_messages(const std::string& description, const std::vector<value>& messages);

// -- questions of a graph for a client's user

/// The params of elicitation/create; null for a question whose schema no form can show.
value mcp_elicitation_of(const interrupt& question);
/// The answer for the graph, from the client's result.
/// Errors: invalid_value for a user who declined, and for content that does not fit.
result<value> answer_of_elicitation(const value& params, const value& elicited);

} // namespace troupe
