// What differs between providers: how a request is written, an answer and an error read. Pure.
#pragma once

#include "http/exchange.hpp"
#include "http/sse.hpp"

#include <troupe/agents/chat_models.hpp>

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

  /// Errors: throws model_error: what the event reports, or the event is none of the format.
  virtual void take(const sse_event& event) = 0;
  /// The parts since the last call.
  virtual std::vector<value> take_parts() = 0;
  virtual bool has_content() const = 0;
  /// Whether the answer is whole, and whether there is nothing more to come.
  virtual bool is_complete() const = 0;
  virtual bool is_over() const = 0;
  /// The message, as far as it came, whose last part is among the parts then. Errors: none.
  virtual value finish() = 0;
};

/// An error as a provider's JSON reports it.
struct reported_error {
  std::string kind = {};
  std::string message = {};
  std::string request_id = {};
  int status = 0; ///< as the JSON says it; 0: it does not
  bool context_overflow = false;
};

class model_wire {
public:
  model_wire() = default;
  model_wire(const model_wire&) = delete;
  model_wire& operator=(const model_wire&) = delete;
  virtual ~model_wire() = default;

  virtual std::string url() const = 0;
  /// Those of the options and of the request among them.
  virtual http_headers headers(const std::string& key, const model_request& asked) const = 0;
  /// The body of a request.
  /// Errors: throws node_error of class ValueError for messages that the format can't express.
  virtual value request(const model_request& asked, bool stream) const = 0;
  /// The message of a whole answer. Errors: throws model_error of the kind broken_answer.
  virtual value answer(const value& json, std::string message_id) const = 0;
  virtual std::unique_ptr<answer_reader> reader(const model_request& asked,
                                                std::string message_id) const = 0;
};

/// `model` without the provider; `base_url` without a slash at its end.
std::unique_ptr<model_wire> anthropic_wire(std::string model, chat_model_options options);
/// `own_address`: it is OpenAI itself that is asked, which calls max_tokens otherwise.
std::unique_ptr<model_wire> openai_wire(std::string model, chat_model_options options,
                                        bool own_address);

// ---- what both need ---------------------------------------------------------------------------

/// The error in a body or event, in the form of either provider or of what is compatible with it:
/// {"error": {…}}, {"error": "text"}, {"message": …}, {"detail": …}.
reported_error read_reported_error(const value& json);

/// Failures as errors whose message is what was said and no more; told_error makes a sentence of
/// it. A response whose status is none of success.
model_error refused_by_status(const http_head& head, std::string_view body,
                              std::chrono::system_clock::time_point now);
/// What an event, or a body in an answer's place, reports.
model_error refused_by_event(const value& json);
/// What became of the connection.
model_error lost_connection(const http_error& failure);

/// What no message may repeat.
struct hidden_texts {
  std::string_view key;
  const value& messages;
};
/// The error as it is thrown: model, status, kind, what was said (one line of printable characters,
/// cut to limits::model_error_bytes_max, and nothing of what is hidden), where it came from without
/// query and password, the request's id, and how long the provider asks to wait.
model_error told_error(std::string_view model, const model_error& raw, const hidden_texts& hidden,
                       std::string_view url = {});

/// A JSON Schema, closed: objects that say nothing of other members allow none, as providers want
/// it.
value closed_schema(const value& schema);

/// The options' settings with those of a request over them, null ones left out.
value merged_settings(const chat_model_options& options, const model_request& asked);

/// A tool's definition as {name, description, parameters, …}, also out of OpenAI's form; a
/// provider's own tool as it is.
struct tool_definition_parts {
  bool is_function = false;
  value name;
  value description;
  value parameters;
  value extras = value::map(); ///< other members
};
tool_definition_parts read_definition(const value& definition);

} // namespace troupe
