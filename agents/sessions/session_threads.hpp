// Which thread a session is. Pure.
#pragma once

#include <troupe/agents/agent_runner.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The thread of a session: the JSON list [app, user, id], so that no character is a separator.
/// Errors: as session_ref.
result<std::string> thread_of(const std::string& app, const session_ref& session);

/// The session that a thread is; nothing for a thread of another app, or that is none.
std::optional<session_ref> session_of(std::string_view app, std::string_view thread_id);

} // namespace troupe
