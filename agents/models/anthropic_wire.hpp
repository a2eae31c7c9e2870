// The two halves of Anthropic's format.
#pragma once

#include "agents/models/model_wire.hpp"

#include <array>

namespace troupe {

/// What a call is sent back with besides its name and input: members of tool_use blocks, which are
/// the `extras` of a message's call.
inline constexpr std::array<const char*, 2> kept_of_calls{"caller", "toolset_name"};

/// The body of a request.
/// Shape:  the system messages before all others are `system`; what users and tools say in a row is
///         one message; calls that stand in no block of an answer are added to it. Settings go to
///         the body as they are; `stop` and `parallel_tool_calls` in Anthropic's words.
/// Errors: throws node_error of class ValueError for system messages apart from each other.
/// Source: langchain_anthropic/chat_models.py, _format_messages.
value anthropic_request(std::string_view model, const chat_model_options& options,
                        const model_request& asked, bool stream);

/// The headers, and one `anthropic-beta` of all that they and the types of these tools name.
/// Source: langchain_anthropic/chat_models.py, _TOOL_TYPE_TO_BETA.
http_headers with_betas(http_headers given, const value& tools);

/// The message of a whole answer. Errors: throws model_error of the kind broken_answer.
value anthropic_answer(const value& json, std::string message_id);

/// A reader of a streamed one. `as_blocks`: see answer_form.
std::unique_ptr<answer_reader> anthropic_reader(std::string message_id, bool as_blocks);

} // namespace troupe
