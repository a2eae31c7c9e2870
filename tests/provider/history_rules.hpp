// Which conversations the providers take. Pure.
#pragma once

#include "tests/provider/model_wire.hpp"

#include <string>

namespace troupe::test {

/// Why a provider would refuse the messages of this request; empty: it would not.
/// Shape:  each call of an assistant is answered once, directly after it, and nothing else is; the
///         first message that is not the system's is the user's; no message is empty.
std::string history_fault(model_format format, const value& body);

} // namespace troupe::test
