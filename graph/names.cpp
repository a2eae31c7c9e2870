// The reserved words of the engine, as a sorted table.
#include "graph/names.hpp"

#include <algorithm>
#include <array>

namespace troupe::names {
namespace {

// Source: langgraph/_internal/_constants.py, RESERVED.
constexpr auto words = [] {
  std::array<std::string_view, 27> list{
    "langsmith:hidden",
    "__input__",
    "__interrupt__",
    "__resume__",
    "__error__",
    "__error_source_node__",
    "__no_writes__",
    "__pregel_send",
    "__pregel_read",
    "__pregel_checkpointer",
    "__pregel_stream",
    "checkpoint_map",
    "__pregel_resuming",
    "__pregel_replay_state",
    "__pregel_task_id",
    "checkpoint_id",
    "checkpoint_ns",
    "__pregel_timed_attempt_observer",
    "__pregel_resume_map",
    "__pregel_stream_messages_v2",
    "__pregel_push",
    "__pregel_pull",
    "|",
    ":",
    "configurable",
    "__snapshot_bumps__",
    "__pregel_strict_resume",
  };
  std::ranges::sort(list);
  return list;
}();

} // namespace

bool reserved(std::string_view name) noexcept {
  return std::ranges::binary_search(words, name);
}

bool reserved_channel(std::string_view name) noexcept {
  return reserved(name) || name == start || name == tasks || name.starts_with(branch_prefix)
         || name.starts_with(join_prefix);
}

} // namespace troupe::names
