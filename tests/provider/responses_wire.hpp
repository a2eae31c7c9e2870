// The format of OpenAI's Responses API. Pure.
#pragma once

#include "tests/provider/model_wire.hpp"

namespace troupe::test {

std::string responses_whole(const model_answer& answer);
std::vector<std::string> responses_streamed(const model_answer& answer, std::size_t piece_bytes);

/// Each word with the white space after it.
std::vector<std::string> words_of(std::string_view text);
/// Pieces of about `bytes`, none of which ends within a character.
std::vector<std::string> pieces_of(std::string_view text, std::size_t bytes);

} // namespace troupe::test
