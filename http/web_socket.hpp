// web_socket: the WebSocket of one connection. Its source alone sees Beast's WebSockets.
#pragma once

#include "http/listener_core.hpp"

#include <memory>
#include <string>

namespace troupe {

/// Thread: the listener's.
class web_socket {
public:
  virtual ~web_socket() = default;
  virtual void send(std::string text) = 0;
  /// After the messages that were sent. A second call has no effect.
  virtual void close(std::uint16_t code, std::string reason) = 0;
};

/// Answers the request, and reads messages until the end; then it closes the connection. It lives
/// no longer than the connection.
std::shared_ptr<web_socket> begin_web_socket(http_connection& of, served_stream& stream,
                                             const served_request& asked,
                                             const http_headers& headers,
                                             http_socket_handler handler);

/// Whether the request asks for a WebSocket.
bool asks_for_socket(const served_request& asked);

} // namespace troupe
