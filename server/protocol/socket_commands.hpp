// socket_commands: the commands of a WebSocket that wait to be heard. Pure.
#pragma once

#include <troupe/value.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace troupe::server {

/// A line of commands, first come first served.
/// Thread: one at a time.
class socket_commands {
public:
  /// The name of the limit that a command is beyond; empty when the command is kept until next().
  /// Shape:  `text` is left empty when it is kept, else as it was.
  /// Units:  limits::server_socket_commands_max, limits::server_socket_commands_bytes_max.
  std::string_view add(std::string& text);
  /// The oldest command, which waits no longer. There must be one.
  std::string next();
  bool empty() const noexcept { return waiting_.empty(); }

private:
  std::deque<std::string> waiting_;
  std::size_t bytes_ = 0;
};

/// The id of a command, without reading the rest as a value; null when it is not an integer.
/// Shape:  `json` may be any text; the first of several ids counts.
value command_id(std::string_view json);

} // namespace troupe::server
