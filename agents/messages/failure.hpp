// What code of a user's own threw, as an error.
#pragma once

#include <troupe/error.hpp>

namespace troupe {

/// The error itself, or node_failed with the class and text of what was thrown.
error failure_of(const std::exception& thrown);

/// In a handler: the C++ class of what was thrown, whatever it is.
std::string class_in_flight();

/// Whether it ends the run whatever is said: a drain, a cancelled run, a command for a graph
/// further out, an answer that does not fit its question.
bool ends_the_run(const error& failure) noexcept;

/// A node's failure with a class of the reference's.
inline node_error value_error(std::string text) {
  return {"ValueError", std::move(text)};
}

} // namespace troupe
