// model_wire: the differences between providers: how requests are written, and answers and errors
// are read. Pure.
#pragma once

#include "http/exchange.hpp"
#include "http/sse.hpp"

#include <troupe/agents/model_providers.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Reads a streamed answer, event by event.
class answer_reader {
public:
  answer_reader() = default;
  answer_reader(const answer_reader&) = delete;
  answer_reader& operator=(const answer_reader&) = delete;
  virtual ~answer_reader() = default;

  /// Errors: throws model_error for an error that the event reports, and for an event of another
  ///         format.
  virtual void take(const sse_event& event) = 0;
  /// The parts since the last call.
  virtual std::vector<value> take_parts() = 0;
  virtual bool has_content() const = 0;
  /// is_complete(): the answer is whole. is_over(): nothing follows any more.
  virtual bool is_complete() const = 0;
  virtual bool is_over() const = 0;
  /// The message, as far as it has come; afterwards, take_parts() has its last part. Errors: none.
  virtual value finish() = 0;
};

/// An error as a provider's JSON reports it.
struct reported_error {
  std::string kind = {};
  std::string message = {};
  std::string request_id = {};
  int status = 0; ///< from the JSON; 0: not given
  bool context_overflow = false;
};

class model_wire {
public:
  model_wire() = default;
  model_wire(const model_wire&) = delete;
  model_wire& operator=(const model_wire&) = delete;
  virtual ~model_wire() = default;

  virtual std::string url() const = 0;
  /// The headers of a request, including those of the options and of `asked`.
  virtual http_headers headers(const std::string& key, const model_request& asked) const = 0;
  /// The body of a request.
  /// Errors: throws node_error of class ValueError for messages that the format can't express.
  virtual value request(const model_request& asked, bool stream) const = 0;
  /// The message of a whole answer. Errors: throws model_error of the kind broken_answer.
  virtual value answer(const value& json, std::string message_id) const = 0;
  virtual std::unique_ptr<answer_reader> reader(const model_request& asked,
                                                std::string message_id) const = 0;
};

/// `model` is without the provider; `base_url` is without a slash at its end.
std::unique_ptr<model_wire> anthropic_wire(std::string model, chat_model_options options);
/// `own_address`: the endpoint is OpenAI's own, which has another name for max_tokens.
std::unique_ptr<model_wire> openai_wire(std::string model, chat_model_options options,
                                        bool own_address);

/// OpenAI's Responses API.
std::unique_ptr<model_wire> responses_wire(std::string model, chat_model_options options);

// ---- what both need ---------------------------------------------------------------------------

/// The error in a body or event. It may have the form of either provider or of a compatible server:
/// {"error": {…}}, {"error": "text"}, {"message": …}, {"detail": …}.
reported_error read_reported_error(const value& json);

/// Failures as errors whose message is only the provider's text; told_error() makes a sentence of
/// it. The first one, refused_by_status(), is for a response whose status is not a success.
model_error refused_by_status(const http_head& head, std::string_view body,
                              std::chrono::system_clock::time_point now);
/// The error that an event reports, or a body in place of an answer.
model_error refused_by_event(const value& json);
/// The error of a failed connection.
model_error lost_connection(const http_error& failure);

/// The texts that no message may repeat.
struct hidden_texts {
  std::string_view key;
  const value& messages;
};
/// The error as it is thrown. Its message has the model, status and kind, and the provider's text.
/// The address without query and password, the request's id, and the wait that the provider asks
/// for follow. The text is one line of printable characters, at most limits::model_error_bytes_max,
/// without any of the hidden texts.
model_error told_error(std::string_view model, const model_error& raw, const hidden_texts& hidden,
                       std::string_view url = {});

/// A JSON Schema, closed: objects without a rule for further members allow none, as providers
/// require.
value closed_schema(const value& schema);

/// The options' settings, replaced by those of a request where it has some; null ones are left out.
value merged_settings(const chat_model_options& options, const model_request& asked);

/// A tool's definition as {name, description, parameters, …}, also from OpenAI's form. A provider's
/// own tool stays as it is.
struct tool_definition_parts {
  bool is_function = false;
  value name;
  value description;
  value parameters;
  value extras = value::map(); ///< other members
};
tool_definition_parts read_definition(const value& definition);

} // namespace troupe
