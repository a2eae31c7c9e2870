// The server: graphs over HTTP, with the API of LangGraph's Agent Server.
//
//     troupe::agent_server serving{{.graphs = {{"agent", agent.compile()}}, .data_dir = "data"}};
//     std::cout << "http://127.0.0.1:" << serving.port() << "\n";
//     wait_for_a_signal();
//     serving.drain();
#pragma once

#include <troupe/runtime.hpp>
#include <troupe/server/limits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Which URLs the server calls when a run ends.
/// Errors: a run with another webhook is refused with status 422.
/// Source: langgraph.json, webhooks.url.
struct webhook_rules {
  bool require_https = true;
  bool allow_loopback = false;
  bool allow_private = false; ///< addresses of private networks
};

/// The parts of a server.
/// Shape:  `graphs`: a name and a graph each; a client runs it under that name. With an empty
///         `data_dir`, everything is in memory, and gone with the process.
/// Errors: see agent_server.
/// Source: langgraph.json; langgraph-api's settings.
struct server_options {
  std::vector<std::pair<std::string, compiled_graph>> graphs = {};
  std::string address = "127.0.0.1"; ///< numeric
  std::uint16_t port = 2024;         ///< 0: any free one
  std::string data_dir = {};         ///< of savers, the store and the server's own records
  std::vector<std::string> cors_origins = {"*"};
  /// Serves callers beyond this host without asking who they are.
  bool no_auth = false;
  webhook_rules webhooks = {};
  std::size_t worker_threads = 0; ///< of the runtime; 0: as many as cores
};

/// Serves during its lifetime. Runs that an earlier server left are taken up again.
/// Thread: any.
/// Errors: the constructor throws error{invalid_config}: two graphs with one name, an address that
///         is taken or not numeric, or one beyond loopback without `no_auth`; storage codes for
///         `data_dir`.
/// Source: langgraph-api.
class agent_server {
public:
  explicit agent_server(server_options options);
  agent_server(const agent_server&) = delete;
  agent_server& operator=(const agent_server&) = delete;
  /// As drain(), with default times.
  ~agent_server();

  std::uint16_t port() const noexcept;

  /// Takes no new requests, stops running runs at the end of their step, and ends streams. The next
  /// server takes these runs up. Returns whether all runs had stopped in time.
  /// Blocks: at most this long.
  bool drain(std::chrono::milliseconds at_most = limits::server_drain_wait);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
