// openai_echo: data that endpoints of OpenAI's format send with an answer and require in later
// requests.
// It consists of Gemini's signatures, without which calls are refused, DeepSeek's thoughts before
// tool calls, and OpenRouter's reasoning_details. A message keeps the data together with its
// endpoint, since another endpoint would refuse unknown members. Pure.
#pragma once

#include "agents/models/answer_builder.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The host of an endpoint's address.
std::string endpoint_of(std::string_view base_url);

/// Gathers the data from an answer, whole or in pieces. With an empty endpoint it keeps nothing.
class openai_echo {
public:
  explicit openai_echo(std::string endpoint) : endpoint_{std::move(endpoint)} {}

  /// Shape:  `said`: a message, or a piece of one.
  /// Errors: throws model_error of the kind broken_answer past limits::model_blocks_max details.
  void hear(const value& said);
  /// Shape:  additional_kwargs.reasoning_details (those of one index and type as one, texts joined)
  ///         and .extra_content; response_metadata.sent_back: {to, members}.
  void keep_in(answer_builder& into) const;

private:
  struct detail {
    value known = value::map(); // members that came as a whole
    std::map<std::string, std::string> texts = {};
  };
  void hear_detail(const value& piece);
  detail& detail_of(const value& piece);
  value details() const;

  std::string endpoint_;
  std::vector<detail> details_; // in the order of their first pieces
  value extra_content_;
  bool has_thoughts_ = false;
  bool has_calls_ = false;
  bool has_signed_calls_ = false;
};

/// The data to keep with a call, as its `extras`; an empty map when none came.
value call_extras(const value& call);

/// `sent`, a message to send, with the data of its answer if the answer came from this endpoint.
value with_echo(value sent, const value& message, std::string_view endpoint);

} // namespace troupe
