// http_edge: the server's HTTP side. It finds the handler of a request, and asks who sent it.
#pragma once

#include "http/listener.hpp"
#include "server/edge/cors.hpp"
#include "server/edge/rate_limiter.hpp"
#include "server/edge/request_meter.hpp"
#include "server/edge/router.hpp"

#include <troupe/server/limits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe::server {

/// The caller of a request, by its head; an error refuses it with status 401 and the error's text.
/// Thread: any, several at once. It may block.
using authenticator = std::function<result<caller>(const http_asked& head)>;

struct edge_options {
  http_listener_options listen{.body_bytes_max = limits::server_body_bytes_max,
                               .connections_max = limits::server_connections_max,
                               .turned_away_max = limits::server_turned_away_max,
                               .peer_timeout = limits::server_peer_timeout};
  cors_options cors{};
  /// By caller, or by address for callers without an identity. Off by default.
  rate_options rate{};
  std::size_t handler_threads = limits::server_handler_threads;
  std::size_t queued_requests_max = limits::server_queued_requests_max; ///< 503 above
  authenticator authenticate{}; ///< empty: all callers are without an identity
  authoriser authorise{};       ///< empty: callers may do everything
  bool no_auth = false;         ///< serves everybody beyond this host, without `authenticate`
  std::function<void(const std::string& line)> log{}; ///< empty: troupe's log
};

/// The present load of an edge.
struct edge_load {
  std::size_t connections = 0;
  std::size_t streams = 0;         ///< answers that are being streamed
  std::size_t sockets = 0;         ///< WebSockets
  std::size_t queued_requests = 0; ///< that wait for a handler thread
};

/// Serves during its lifetime. Each answer has an `x-request-id`: the request's, or a new one. Log
/// lines of answers with status 500 or above name it.
class http_edge {
public:
  /// Errors: throws error{invalid_config}: as http_listener, or when `listen` is not a loopback
  ///         address and there is neither `authenticate` nor `no_auth`.
  http_edge(edge_options options, router routes);
  http_edge(const http_edge&) = delete;
  http_edge& operator=(const http_edge&) = delete;
  ~http_edge();

  /// Takes no new requests. Answers in work have `at_most`, and streams `for_streams` of it; then
  /// they are ended in good order. Returns whether all answers were sent.
  /// Blocks: at most this long.
  bool drain(std::chrono::milliseconds at_most, std::chrono::milliseconds for_streams);

  std::uint16_t port() const noexcept;
  request_counts counts() const;
  /// Thread: of this and counts(): any, a handler's too.
  edge_load load() const;

private:
  class state;
  std::unique_ptr<state> state_;
};

/// A request id that may stand in headers and log lines.
/// Shape:  at most limits::server_request_id_bytes_max visible characters of ASCII.
bool is_request_id(std::string_view id);

} // namespace troupe::server
