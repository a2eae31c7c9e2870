// The answers of the program fake_provider: a script from a file, or a conversation of its own.
#pragma once

#include "tests/provider/fake_provider.hpp"

#include <troupe/error.hpp>

#include <chrono>
#include <cstddef>

namespace troupe::test {

/// How fast a program's provider speaks.
struct pace {
  std::chrono::milliseconds first{0}; ///< before the first event
  std::chrono::milliseconds each{0};  ///< before each other one
  std::size_t words = 0;              ///< of an echo; 0: as many as in the message
};

/// Calls the first tool that a request offers, with arguments that fit its schema; then answers
/// with the result. Without tools, repeats the last message.
responder converses(pace how = {});

/// Answers by a script.
/// Shape:  {"replies": [REPLY …], "by": "turn" | "request"}. A REPLY is one of
///         {"text", "thinking", "tool_calls": [{"id", "name", "args"}], "stop"},
///         {"status", "message", "headers": {…}} and {"raw": TEXT}.
///         By turn, the default, the reply is chosen by how many answers the request has in it, so
///         that many conversations run at once; by request, each request takes the next one. After
///         the last one it starts over.
/// Errors: invalid_value.
result<responder> scripted_by(const value& script, pace how = {});

} // namespace troupe::test
