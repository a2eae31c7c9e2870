// Answers of a model, in three formats: Anthropic's messages, OpenAI's chat completions and
// OpenAI's responses. Pure.
#pragma once

#include <troupe/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::test {

/// A call as a model writes it.
struct model_call {
  std::string id;
  std::string name;
  std::string arguments = "{}"; ///< JSON, or what a model takes for it
};

struct model_usage {
  std::int64_t input = 10;
  std::int64_t output = 5;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0; ///< Anthropic's only
};

/// An answer, in no provider's format.
struct model_answer {
  std::string text = {};
  std::vector<model_call> calls = {};
  std::string thinking = {};
  std::string signature = {}; ///< of the thinking; Anthropic's only
  std::string stop = {};      ///< as the provider calls it; empty: what fits
  model_usage usage = {};
  std::string id = "msg_1";
  std::string model = "fake-1";
};

enum class model_format : std::uint8_t { anthropic, openai, responses };

/// By the target of a request: Anthropic's ends in /messages, that of OpenAI's Responses API in
/// /responses; all others are chat completions.
model_format format_of(std::string_view target);

/// The body of a whole answer.
std::string whole_answer(model_format format, const model_answer& answer);

/// The events of a streamed one, each with its `data:` and the empty line after it. Text comes
/// word by word, arguments in pieces of `piece_bytes`. Shape:  `with_usage`: OpenAI sends the usage
/// only when it was asked for.
std::vector<std::string> streamed_answer(model_format format, const model_answer& answer,
                                         bool with_usage = true, std::size_t piece_bytes = 7);

/// The body of an error.
std::string error_body(model_format format, int status, std::string_view message);

} // namespace troupe::test
