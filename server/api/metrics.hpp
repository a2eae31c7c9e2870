// metrics: what a server counts, as text for Prometheus and as JSON. Pure.
#pragma once

#include "server/edge/http_edge.hpp"
#include "server/rules/records.hpp"

#include <troupe/value.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace troupe::server {

/// The runs that ended on this server, by their status. Thread: any.
class ended_runs {
public:
  void count(run_status status) { ++counts_[static_cast<std::size_t>(status)]; }
  std::map<run_status, std::uint64_t> counts() const;

private:
  std::array<std::atomic<std::uint64_t>, 6> counts_{};
};

/// The counts of a server at one time.
/// Units:  `started_at` in microseconds since 1970.
struct server_counts {
  request_counts requests = {};
  edge_load load = {};
  std::map<run_status, std::uint64_t> ended = {}; ///< on this server, since its start
  std::size_t pending = 0;                        ///< runs of the database
  std::size_t running = 0;                        ///< runs of the database
  std::size_t carried = 0;                        ///< runs that this server carries out
  std::int64_t started_at = 0;
  bool is_ready = true;
};

/// The counts in Prometheus' text format.
/// Shape:  names begin with `troupe_`. Buckets of a histogram count those before, too.
/// Order:  by name of the route, method and status.
/// Source: prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
std::string metrics_text(const server_counts& counts);

/// The counts as {queue: {num_pending, num_running}, workers, api}.
/// Source: langgraph-api, /metrics?format=json: the names of the outer members and of `queue`.
value metrics_json(const server_counts& counts);

} // namespace troupe::server
