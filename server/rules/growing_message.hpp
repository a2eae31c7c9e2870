// growing_message: a model's message while it comes, as clients see it so far. Pure.
#pragma once

#include <troupe/value.hpp>

namespace troupe::server {

/// The sum of the pieces of one message.
/// Source: langchain_core/messages/ai.py, AIMessageChunk.
class growing_message {
public:
  /// Shape:  `message`: a whole message, which takes the place of all before it, or a piece. A
  /// piece
  ///         that does not fit those before it takes their place, too.
  void add(const value& message);

  /// Shape:  as a whole message on the wire. The arguments of a tool call are as much of them as
  /// can
  ///         be read; a call whose text is not of a map is in `invalid_tool_calls`.
  value form() const;

private:
  value sum_;
};

/// Whether a message is a piece of one.
bool is_piece(const value& message) noexcept;

} // namespace troupe::server
