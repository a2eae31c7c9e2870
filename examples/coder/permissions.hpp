// permissions: tools that run only after a person has agreed.
#pragma once

#include <troupe/agents.hpp>

#include <string>
#include <vector>

namespace coder {

/// Asks before each call of these tools, unless the thread's list `allowed` has the tool.
/// Shape:  the question is {type: "tool_approval", tool_call_id, name, args}. The answer is one of:
///         - {type: "approve"}
///         - {type: "always"}, which adds the tool to `allowed`
///         - {type: "reject", message}
///         - {type: "respond", message}
///         - {type: "edit", edited_action: {name, args}}
/// Errors: (of a run) ValueError for an answer of another type.
troupe::middleware ask_before(std::vector<std::string> tools);

} // namespace coder
