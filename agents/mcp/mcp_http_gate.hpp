// Who may speak to an MCP server over HTTP, and the sessions that there are. Pure: what time it is
// is given.
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

/// Why a request is refused by its head, if it is.
/// Order:  who asks, before what is asked: a stranger learns nothing of the server.
std::optional<http_whole> refused_by_head(const mcp_http_options& rules, bool is_loopback,
                                          const http_asked& head);
/// A message without an id, as the body of an answer.
http_whole mcp_http_refusal(int status, std::string_view why);

/// Whether the client takes a stream of events for an answer.
bool takes_events(const http_asked& head);

/// The clients that were greeted. Thread: one.
class mcp_http_sessions {
public:
  using clock = std::chrono::steady_clock;

  mcp_http_sessions(std::size_t most, std::chrono::milliseconds idle) : most_{most}, idle_{idle} {}

  /// A new one. Its id; nothing when as many are there as may be, and each has a call that runs.
  std::optional<std::string> add(std::shared_ptr<mcp_connection> who, clock::time_point now);
  /// The one of this id, which is used now; null when there is none, or it was idle for too long.
  std::shared_ptr<mcp_connection> find(std::string_view id, clock::time_point now);
  /// Takes it out; null when there is none.
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
