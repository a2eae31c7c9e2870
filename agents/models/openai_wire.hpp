// openai_wire: the requests and answers of OpenAI's format.
#pragma once

#include "agents/models/model_wire.hpp"

#include <optional>

namespace troupe {

/// The headers of a request: the key as a bearer token, then those of the options and the call.
http_headers openai_headers(const std::string& key, const chat_model_options& options,
                            const model_request& asked);

/// The body of a request.
/// Shape:  as messages_to_openai. A tool's message has neither name nor status. Marks for caches
///         and other providers' blocks are left out. For another endpoint than OpenAI's own, the
///         data that it requires back is added (openai_echo.hpp).
/// Source: langchain_openai/chat_models/base.py, _convert_message_to_dict.
value openai_request(std::string_view model, const chat_model_options& options,
                     const model_request& asked, bool stream, bool own_address);

/// A schema of answers as {name, schema, strict}. `strict` unset: whether the schema is one that
/// the provider can enforce.
value openai_schema(const value& schema, std::optional<bool> strict);

/// The message of a whole answer. Errors: throws model_error of the kind broken_answer, or the
/// error that the server reports in place of an answer.
/// Shape:  `endpoint`: the endpoint of the answer, for data that is sent back to it; empty: none is
///         kept.
value openai_answer(const value& json, std::string message_id, std::string endpoint = {});

std::unique_ptr<answer_reader> openai_reader(std::string message_id, std::string endpoint = {});

} // namespace troupe
