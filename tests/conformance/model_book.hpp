// The chat models of a case: they give the answers of a script, one a call.
#pragma once

#include "tests/conformance/expr.hpp"

#include <map>
#include <mutex>
#include <string>

namespace troupe::conformance {

/// Thread: its members may be called from any thread.
class model_book {
public:
  /// Owns:   refers to `declared`, an object of MODELs.
  explicit model_book(const script_json& declared) : declared_{declared} {}

  /// The next answer of a model to `messages`, given to the task's `messages` stream: in parts if
  /// the model streams, else whole.
  /// Errors: what evaluating it throws; error{missing_key} for a model or an answer that is not
  ///         there.
  term answer(const std::string& name, const value& messages, scope& s);

  /// The next answer of a MODEL that has no name, known by `key`, to the scope's input; a message
  /// has an id. Errors: as answer().
  term say(const std::string& key, const script_json& model, scope& s);

private:
  const script_json& next(const std::string& name, const script_json& answers);

  const script_json& declared_;
  std::mutex mutex_;
  std::map<std::string, std::size_t> given_;
};

/// Whether a MODEL gives its answers in parts.
bool streams(const script_json& model);

/// The parts in which a model that streams gives an answer.
/// Order:  the words of the content, then a part for each tool call.
std::vector<value> parts_of(const term::message_type& answer);

} // namespace troupe::conformance
