// responses_wire: the requests and answers of OpenAI's Responses API.
#pragma once

#include "agents/models/model_wire.hpp"

namespace troupe {

/// Whether a block of content is an item of the Responses API that only this API takes back. Such
/// items are a function_call, a call of the provider's own tool (web_search_call, mcp_call …), and
/// a reasoning item with its summary.
bool is_responses_item(const value& block);

/// The body of a request.
/// Shape:  system, user and tool messages as input items. The blocks of an answer are items again,
///         in their order; calls that stand in no block follow them. Function calls have the
///         message's present names and arguments. Settings are copied to the body; max_tokens,
///         reasoning_effort, verbosity and response format are translated.
/// Errors: throws error{invalid_value} for an element that is not a message.
/// Source: langchain_openai/chat_models/base.py, _construct_responses_api_payload.
value responses_request(std::string_view model, const chat_model_options& options,
                        const model_request& asked, bool stream);

/// The message of a whole answer.
/// Shape:  content: a list of blocks. response_metadata: id, model_name, status,
///         incomplete_details, and finish_reason as of chat completions.
/// Errors: throws model_error of the kind broken_answer, or the error that the answer reports.
/// Source: langchain_openai/chat_models/base.py, _construct_lc_result_from_responses_api.
value responses_answer(const value& json, std::string message_id);

/// Source: langchain_openai/chat_models/base.py, _convert_responses_chunk_to_generation_chunk.
std::unique_ptr<answer_reader> responses_reader(std::string message_id);

} // namespace troupe
