// session_threads: the thread of a session. Pure.
#pragma once

#include <troupe/agents/agent_runner.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The thread of a session: the JSON list [app, user, id], so that every character may stand in its
/// parts.
/// Errors: as session_ref.
result<std::string> thread_of(const std::string& app, const session_ref& session);

/// The session of a thread; nullopt for a thread of another app, or one that is not a session's.
std::optional<session_ref> session_of(std::string_view app, std::string_view thread_id);

} // namespace troupe
