// sse_text: values as clients of a server read them.
#pragma once

#include <troupe/value.hpp>

namespace troupe {

/// A value with messages, questions, errors and removals in the forms that to_sse(stream_part)
/// documents. The other kinds stay as they are.
value client_form(const value& v);

} // namespace troupe
