// subagent_run: an agent that a tool asks.
#pragma once

#include <troupe/agents/tool.hpp>

#include <string>

namespace troupe {

/// The last message of an agent that gets a task in a conversation of its own, within a tool's
/// call.
/// Shape:  `name` and the call stand in the metadata of the agent's tasks. Both references must
///         outlive the coroutine.
/// Errors: the agent's failure.
coro<std::string> run_subagent(const compiled_graph& agent, const std::string& name,
                               std::string task, tool_runtime& runtime);

} // namespace troupe
