// How agents of a team are named in tools and messages.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// Members of the metadata of an agent's tasks: whose they are, and of the call that began them.
/// Source: langgraph/stream/transformers.py; langchain/agents/factory.py.
inline constexpr const char* agent_name_mark = "lc_agent_name";
inline constexpr const char* tool_call_mark = "tool_call_id";

/// In the response_metadata of messages that say an agent is done.
inline constexpr const char* handoff_back_mark = "__is_handoff_back";

/// `prefix` and the agent's name in small letters, with `_` for white space.
std::string transfer_name(std::string_view prefix, std::string_view agent);

} // namespace troupe
