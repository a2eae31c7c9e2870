// team_names: the names of a team's agents in tools and messages.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// Members of the metadata of an agent's tasks: the agent's name, and the call that began it.
/// Source: langgraph/stream/transformers.py; langchain/agents/factory.py.
inline constexpr const char* agent_name_mark = "lc_agent_name";
inline constexpr const char* tool_call_mark = "tool_call_id";

/// A member of the response_metadata of messages that report the end of an agent.
inline constexpr const char* handoff_back_mark = "__is_handoff_back";

/// `prefix` and the agent's name in lower case, with `_` for white space.
std::string transfer_name(std::string_view prefix, std::string_view agent);

} // namespace troupe
