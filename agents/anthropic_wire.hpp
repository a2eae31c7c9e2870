// The two halves of Anthropic's format.
#pragma once

#include "agents/model_wire.hpp"

namespace troupe {

/// The body of a request.
/// Shape:  the system messages before all others are `system`; what users and tools say in a row is
///         one message; calls that stand in no block of an answer are added to it. Settings go to
///         the body as they are; `stop` and `parallel_tool_calls` in Anthropic's words.
/// Errors: throws node_error of class ValueError for system messages apart from each other.
/// Source: langchain_anthropic/chat_models.py, _format_messages; spec/agents.md G1, G5.
value anthropic_request(std::string_view model, const chat_model_options& options,
                        const model_request& asked, bool stream);

/// The message of a whole answer. Errors: throws model_error of the kind broken_answer.
value anthropic_answer(const value& json, std::string message_id);

/// A reader of a streamed one. `as_blocks`: see answer_form.
std::unique_ptr<answer_reader> anthropic_reader(std::string message_id, bool as_blocks);

} // namespace troupe
