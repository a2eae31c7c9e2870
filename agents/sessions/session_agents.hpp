// session_agents: agents as graphs, so that their invocations become tasks.
#pragma once

#include <troupe/agents/agent_runner.hpp>

#include <string>

namespace troupe {

/// The graph whose threads are the sessions of an agent: the agent's own, or one with a node that
/// runs it.
/// Shape:  `mark`: of said_part().
/// Errors: throws error{invalid_graph}.
compiled_graph graph_of(const session_agent_ptr& agent, const std::string& mark);

} // namespace troupe
