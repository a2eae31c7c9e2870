// mcp_http_gate: which requests an MCP server accepts over HTTP, and its sessions. Pure: the
// current time is an argument.
#pragma once

#include "agents/mcp/mcp_connection.hpp"

#include "http/listener.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The answer that refuses a request by its head; nullopt to accept it.
/// Order:  the client is checked before the request, so that a stranger learns nothing about the
///         server.
std::optional<http_whole> refused_by_head(const mcp_http_options& rules, bool is_loopback,
                                          const http_asked& head);
/// A message without an id, as the body of an answer.
http_whole mcp_http_refusal(int status, std::string_view why);

/// Whether the client accepts a stream of events as an answer.
bool takes_events(const http_asked& head);

/// The clients that were greeted. Thread: one.
class mcp_http_sessions {
public:
  using clock = std::chrono::steady_clock;

  mcp_http_sessions(std::size_t most, std::chrono::milliseconds idle) : most_{most}, idle_{idle} {}

  /// Adds a session. Result: its id; nullopt when there are as many as allowed and each has a
  /// running call.
  std::optional<std::string> add(std::shared_ptr<mcp_connection> who, clock::time_point now);
  /// The session of this id, which counts as used now; null when it does not exist or was idle for
  /// too long.
  std::shared_ptr<mcp_connection> find(std::string_view id, clock::time_point now);
  /// Removes a session; null when it does not exist.
  std::shared_ptr<mcp_connection> remove(std::string_view id);
  std::size_t size() const noexcept { return all_.size(); }

private:
  struct session {
    std::shared_ptr<mcp_connection> who;
    clock::time_point used;
  };
  void forget_idle(clock::time_point now);

  const std::size_t most_;
  const std::chrono::milliseconds idle_;
  std::map<std::string, session, std::less<>> all_;
};

} // namespace troupe
