// An agent that a tool asks.
#pragma once

#include <troupe/agents/tool.hpp>

#include <string>

namespace troupe {

/// What an agent says last to a task, in a conversation of its own, as part of a tool's call.
/// Shape:  `name` and the call stand in the metadata of its tasks. Both references outlive it.
/// Errors: what the agent fails with.
coro<std::string> run_subagent(const compiled_graph& agent, const std::string& name,
                               std::string task, tool_runtime& runtime);

} // namespace troupe
