// event_writer and json_writer: frames and heartbeats.
#include "server/edge/events.hpp"

#include <utility>

namespace troupe::server {

event_writer::event_writer(http_responder to, http_headers headers,
                           std::chrono::milliseconds heartbeat)
  : to_{std::move(to)} {
  headers.emplace_back("Content-Type", "text/event-stream; charset=utf-8");
  headers.emplace_back("Cache-Control", "no-store");
  headers.emplace_back("X-Accel-Buffering", "no");
  // One line end: some clients take a comment and an empty line for an event.
  to_.start(200, std::move(headers),
            {.text = ": heartbeat\n", .every = heartbeat, .is_steady = true});
}

void event_writer::event(std::string_view name, std::string_view data, std::string_view id) const {
  to_.piece(event_frame(name, data, id));
}

void event_writer::raw(std::string frames) const {
  to_.piece(std::move(frames));
}

void event_writer::end() const {
  to_.end();
}

void event_writer::when_gone(std::function<void()> gone) const {
  to_.when_gone(std::move(gone));
}

json_writer::json_writer(http_responder to, http_headers headers,
                         std::chrono::milliseconds heartbeat)
  : to_{std::move(to)} {
  to_.cut_unless_ended();
  headers.emplace_back("Content-Type", "application/json");
  to_.start(200, std::move(headers), {.text = "\n", .every = heartbeat, .is_steady = true});
}

void json_writer::finish(std::string json) const {
  to_.piece(std::move(json));
  to_.end();
}

void json_writer::when_gone(std::function<void()> gone) const {
  to_.when_gone(std::move(gone));
}

} // namespace troupe::server
