// answers: an Agent Server's answers as values and errors. Pure.
#pragma once

#include "http/exchange.hpp"

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Texts that must not be in a message: keys, and the values of headers.
using secret_texts = std::vector<std::string>;

/// The error of an answer with a status above 299, as api_call documents it.
error refusal_of(int status, std::string_view body, const secret_texts& secrets);

/// Whether a request may succeed later that got this status: the server begins or has no time.
bool may_pass(int status) noexcept;

/// The JSON of an answer; null for an empty body.
/// Errors: throws error{invalid_value}.
value json_of_answer(std::string_view body);

/// The values that a wait for a run gave.
/// Errors: throws error{node_failed} of the run's class, for {"__error__": {error, message}}.
value values_of_wait(const value& answer);

/// The error of a run: {error, message} of an event, or of a wait.
error failure_of_run(const value& given);

} // namespace troupe
