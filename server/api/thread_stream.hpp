// thread_stream: all runs of a thread as one event stream.
#pragma once

#include "server/api/rooms.hpp"

namespace troupe::server {

/// Answers with the events of the thread's runs from now on, each run's followed by its end. With
/// a Last-Event-ID, the kept events of resumable runs after it come first.
/// Errors: throws refusal: 404 for an unknown thread, 422 for an unknown mode.
void stream_thread(const rooms& with, const api_call& call, const http_responder& to);

} // namespace troupe::server
