// event_writer and json_writer: answers that take their time on one connection.
#pragma once

#include "http/listener.hpp"
#include "server/edge/event_frame.hpp"

#include <troupe/server/limits.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace troupe::server {

/// An event stream that answers a request. Begins at once, with a heartbeat comment (":
/// heartbeat\n") every limits::server_heartbeat while it is quiet or not. Thread: any. Bytes for a
/// peer that is gone are dropped.
class event_writer {
public:
  explicit event_writer(http_responder to, http_headers headers = {},
                        std::chrono::milliseconds heartbeat = limits::server_heartbeat);

  /// One frame, as event_frame() makes it. `data` is one line of JSON.
  void event(std::string_view name, std::string_view data, std::string_view id = {}) const;
  /// Frames as they are.
  void raw(std::string frames) const;
  void end() const;
  /// Calls `gone` once when the peer has closed the connection; never after end(), and not when the
  /// server itself ends.
  void when_gone(std::function<void()> gone) const;

private:
  http_responder to_;
};

/// A JSON answer that is awaited. The head leaves at once, with status 200; then "\n" every
/// limits::server_heartbeat until the answer is there. An answer that nobody finishes is cut, since
/// a client would take it for an empty one.
/// Thread: any.
class json_writer {
public:
  json_writer(http_responder to, http_headers headers,
              std::chrono::milliseconds heartbeat = limits::server_heartbeat);

  /// Sends the body, and ends the answer. Shape: `json` is JSON.
  void finish(std::string json) const;
  /// As event_writer::when_gone().
  void when_gone(std::function<void()> gone) const;

private:
  http_responder to_;
};

} // namespace troupe::server
