// The agent library: messages, models, tools, agents, teams, MCP. Link troupe::agents.
#pragma once

#include <troupe/messages_state.hpp>
#include <troupe/troupe.hpp>

#include <troupe/agents/agent.hpp>
#include <troupe/agents/agent_runner.hpp>
#include <troupe/agents/anthropic.hpp>
#include <troupe/agents/budgets.hpp>
#include <troupe/agents/chat_model.hpp>
#include <troupe/agents/computer.hpp>
#include <troupe/agents/confined_folder.hpp>
#include <troupe/agents/embeddings.hpp>
#include <troupe/agents/grammar.hpp>
#include <troupe/agents/mcp.hpp>
#include <troupe/agents/mcp_oauth.hpp>
#include <troupe/agents/mcp_server.hpp>
#include <troupe/agents/memory_tool.hpp>
#include <troupe/agents/messages.hpp>
#include <troupe/agents/middleware.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/react_agent.hpp>
#include <troupe/agents/reflection.hpp>
#include <troupe/agents/schema_check.hpp>
#include <troupe/agents/teams.hpp>
#include <troupe/agents/tool.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/agents/tool_runner.hpp>
#include <troupe/agents/workspace.hpp>
