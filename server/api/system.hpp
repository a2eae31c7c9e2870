// system: whether the server is there and ready, what it is, and what it counts.
#pragma once

#include "server/api/metrics.hpp"
#include "server/api/rooms.hpp"

#include <atomic>
#include <cstdint>

namespace troupe::server {

enum class server_phase : std::uint8_t { starting, serving, draining };

/// The server as its system routes report it. Lives as long as rooms. Thread: any.
struct server_status {
  std::atomic<server_phase> phase = server_phase::starting;
  ended_runs ended;
  std::int64_t started_at = 0;                  ///< microseconds since 1970
  std::atomic<const http_edge*> edge = nullptr; ///< null until it serves
};

/// `/`, `/ok`, `/info`, `/live`, `/ready` and `/metrics`.
///
/// `/live` and `/ok` are answered while the process lives; `/ready` only while the server takes
/// runs, and its documents can be read, else status 503.
void add_system(router& to, const rooms& with, const server_status& status);

} // namespace troupe::server
