// anthropic_wire: the requests and answers of Anthropic's format.
#pragma once

#include "agents/models/model_wire.hpp"

#include <array>

namespace troupe {

/// The members of tool_use blocks that are sent back with a call, besides its name and input. They
/// are the `extras` of a message's call.
inline constexpr std::array<const char*, 2> kept_of_calls{"caller", "toolset_name"};

/// The body of a request.
/// Shape:  the system messages before all others are `system`. Successive messages of users and
///         tools are one message. Calls that stand in no block of an answer are added to it.
///         Settings are copied to the body; `stop` and `parallel_tool_calls` are translated to
///         Anthropic's words.
/// Errors: throws node_error of class ValueError for system messages apart from each other.
/// Source: langchain_anthropic/chat_models.py, _format_messages.
value anthropic_request(std::string_view model, const chat_model_options& options,
                        const model_request& asked, bool stream);

/// The headers, with one `anthropic-beta` of all betas that they and the types of these tools name.
/// Source: langchain_anthropic/chat_models.py, _TOOL_TYPE_TO_BETA.
http_headers with_betas(http_headers given, const value& tools);

/// The message of a whole answer. Errors: throws model_error of the kind broken_answer.
value anthropic_answer(const value& json, std::string message_id);

/// A reader of a streamed answer. `as_blocks`: see answer_form.
std::unique_ptr<answer_reader> anthropic_reader(std::string message_id, bool as_blocks);

} // namespace troupe
