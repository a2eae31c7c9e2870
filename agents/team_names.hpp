// How agents of a team are named in tools and messages.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// In the response_metadata of messages that say an agent is done.
inline constexpr const char* handoff_back_mark = "__is_handoff_back";

/// `prefix` and the agent's name in small letters, with `_` for white space.
std::string transfer_name(std::string_view prefix, std::string_view agent);

} // namespace troupe
