// The body exit: the base of exceptions that leave a body on behalf of the runtime.
#pragma once

namespace troupe::detail {

/// Base of exceptions that the runtime throws through a body and that are not failures. Examples
/// are a question without an answer, and a command for an enclosing graph. Code that catches
/// everything (`catch
/// (...)`) to report failures must rethrow them.
/// Shape:  none. body_exit is not a std::exception.
/// Errors: none.
/// Source: langgraph/errors.py, GraphBubbleUp.
struct body_exit {};

} // namespace troupe::detail
