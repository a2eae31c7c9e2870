// event_writer: server-sent events on one connection.
#pragma once

#include "http/listener.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace troupe::server {

/// An event stream that answers a request. Begins at once, with a heartbeat comment (":
/// heartbeat\n") every limits::server_heartbeat while it is quiet or not. Thread: any. What is
/// written to a peer that is gone is dropped.
class event_writer {
public:
  event_writer(http_responder to, http_headers headers);

  /// One frame: "event: NAME\ndata: JSON\nid: ID\n\n"; no id line when `id` is empty. `data` is one
  /// line of JSON.
  void event(std::string_view name, std::string_view data, std::string_view id = {}) const;
  /// Frames as they are.
  void raw(std::string frames) const;
  void end() const;
  /// Calls `gone` once when the peer has closed the connection; never after end().
  void when_gone(std::function<void()> gone) const;

private:
  http_responder to_;
};

} // namespace troupe::server
