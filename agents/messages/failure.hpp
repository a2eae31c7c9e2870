// failure: exceptions of a user's code as errors.
#pragma once

#include <troupe/error.hpp>

namespace troupe {

/// The error itself, or node_failed with the class and text of the exception.
error failure_of(const std::exception& thrown);

/// Within a handler: the C++ class of the exception, whatever it is.
std::string class_in_flight();

/// Whether the failure always ends the run. Such are a drain, a cancelled run, a command for a
/// graph further out, and an answer that does not fit its question.
bool ends_the_run(const error& failure) noexcept;

/// A node's failure with a class of the reference's.
inline node_error value_error(std::string text) {
  return {"ValueError", std::move(text)};
}

} // namespace troupe
