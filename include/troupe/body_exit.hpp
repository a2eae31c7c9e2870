// The mark of what leaves a body on behalf of the runtime.
#pragma once

namespace troupe::detail {

/// Base of what the runtime throws through a body that is not a failure: a question without an
/// answer, a command for a graph further out. Code that catches everything (`catch (...)`) in order
/// to report failures must let it pass.
/// Shape:  none. It is not a std::exception.
/// Errors: none.
/// Source: langgraph/errors.py, GraphBubbleUp.
struct body_exit {};

} // namespace troupe::detail
