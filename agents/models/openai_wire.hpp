// The two halves of OpenAI's format.
#pragma once

#include "agents/models/model_wire.hpp"

namespace troupe {

/// The body of a request.
/// Shape:  as messages_to_openai; a tool's message has neither name nor status; marks for caches
///         and other providers' blocks are left out. Unless it is OpenAI's own address, with what
///         the endpoint wants to hear again (openai_echo.hpp).
/// Source: langchain_openai/chat_models/base.py, _convert_message_to_dict.
value openai_request(std::string_view model, const chat_model_options& options,
                     const model_request& asked, bool stream, bool own_address);

/// The message of a whole answer. Errors: throws model_error of the kind broken_answer, or what the
/// server reports as an error in an answer's place.
/// Shape:  `endpoint`: whose it is, for what is kept to be said to it again; empty: nothing is.
value openai_answer(const value& json, std::string message_id, std::string endpoint = {});

std::unique_ptr<answer_reader> openai_reader(std::string message_id, std::string endpoint = {});

} // namespace troupe
