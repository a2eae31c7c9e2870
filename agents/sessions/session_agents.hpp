// How an agent's invocations become tasks of a graph.
#pragma once

#include <troupe/agents/agent_runner.hpp>

#include <string>

namespace troupe {

/// The graph whose threads an agent's sessions are: its own, or one with a node that runs it.
/// Shape:  `mark`: of said_part().
/// Errors: throws error{invalid_graph}.
compiled_graph graph_of(const session_agent_ptr& agent, const std::string& mark);

} // namespace troupe
