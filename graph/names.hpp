// The reserved words of the engine, byte for byte the reference's.
// Source: langgraph/_internal/_constants.py.
#pragma once

#include <string_view>

namespace troupe::names {

inline constexpr std::string_view start = "__start__";
inline constexpr std::string_view end = "__end__";
inline constexpr std::string_view input = "__input__";
inline constexpr std::string_view copy = "__copy__";
inline constexpr std::string_view error = "__error__";
inline constexpr std::string_view interrupt = "__interrupt__";
inline constexpr std::string_view resume = "__resume__";
inline constexpr std::string_view no_writes = "__no_writes__";
inline constexpr std::string_view error_source = "__error_source_node__";
inline constexpr std::string_view returned = "__return__";
inline constexpr std::string_view previous = "__previous__";
inline constexpr std::string_view snapshot_bumps = "__snapshot_bumps__";
inline constexpr std::string_view error_handler_prefix = "__error_handler__";
inline constexpr std::string_view default_error_handler = "__default_error_handler__";
inline constexpr std::string_view error_handler_path = "node_error_handler";
/// The task paths of the writes that a command brought, and of its plain answer once a task took
/// it. The latter sorts first; both sort before the paths of tasks.
inline constexpr std::string_view command_path = "!";
inline constexpr std::string_view taken_path = " taken";
inline constexpr std::string_view tasks = "__pregel_tasks";
inline constexpr std::string_view push = "__pregel_push";
inline constexpr std::string_view pull = "__pregel_pull";
inline constexpr std::string_view root = "__root__";
inline constexpr std::string_view parent = "__parent__";
inline constexpr std::string_view metadata = "__metadata__";
inline constexpr std::string_view branch_prefix = "branch:to:";
inline constexpr std::string_view join_prefix = "join:";
inline constexpr std::string_view null_task_id = "00000000-0000-0000-0000-000000000000";

/// Whether the word is reserved, so that a user may not give this name to a node or channel. START
/// and END are not in the list: they have error texts of their own.
bool reserved(std::string_view name) noexcept;

/// Whether a user may not give this name to a channel: the reserved words and the compiler's own
/// channels.
bool reserved_channel(std::string_view name) noexcept;

} // namespace troupe::names
